"""A failure report's section about one fake: what to look at, and the timeline."""

from __future__ import annotations

import traceback
from typing import Final

from ..base.tracebacks import from_outside
from .highlights import Highlights
from .labels import Labels
from .story import Story
from .svg import svg
from .timeline_text import timeline_text

#: The maximum number of routes' tracebacks in a section.
_RAISED: Final = 3


class Section:
    """What is new in one fake since its last section.

    Args:
        story: The fake's story.
        error: The test's error; None: the test did not fail.

    Attributes:
        highlights: What to look at, one line each.
        cause: The first line, if it is about something odd; else empty.
        timeline: What happened; empty if nothing is new.
        raised: The tracebacks of errors that were not raised in the test yet.
    """

    def __init__(self, story: Story, error: BaseException | None = None) -> None:
        engine = story.engine
        self._story = story
        self._start = story.take_new()
        self.highlights: list[str] = []
        self.cause: str = ""
        self.timeline: str = ""
        self.raised: list[str] = []
        self._is_new: bool = self._start < len(story.trace)
        if not self._is_new and not engine.plan and not engine.state.errors:
            return
        highlights = Highlights(story, self._start, error)
        self.highlights = highlights.lines
        self.cause = highlights.cause
        self._labels = highlights.labels
        self._mentioned = dict.fromkeys([*story.mentioned, *highlights.priced_messages])
        self.timeline = timeline_text(
            story, self._start, labels=self._labels, mentioned=self._mentioned
        )
        raised = dict.fromkeys(_traceback(error, self._labels) for error in engine.state.errors)
        self.raised = [*raised][:_RAISED]

    def __str__(self) -> str:
        if not self.timeline:
            return ""
        lines = [f"  {line}" for line in self.highlights]
        parts = ["What to look at", *lines, ""] if lines else []
        if self._is_new:
            parts += ["What happened since the section above" if self._start else "What happened"]
        parts += [self.timeline]
        for text in self.raised:
            parts += ["", "Not raised in the test yet", text]
        return "\n".join(parts)

    def picture(self, *, styled: bool) -> str:
        """Return the timeline as SVG, with or without its style; empty if nothing is new."""
        if not self._is_new:
            return ""
        return svg(
            self._story,
            self._start,
            labels=self._labels,
            mentioned=self._mentioned,
            styled=styled,
        )


def _traceback(error: BaseException, labels: Labels) -> str:
    return labels.clean("".join(traceback.format_exception(from_outside(error)))).rstrip()
