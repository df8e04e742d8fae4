"""The section about one fake in the report of a failure: what to look at, and its timeline."""

from __future__ import annotations

import traceback
from typing import Final

from ..base.tracebacks import from_outside
from .highlights import Highlights
from .labels import Labels
from .story import Story
from .timeline_text import timeline_text

#: How many errors of routes have their tracebacks in a section.
_RAISED: Final = 3


def section(story: Story) -> str:
    """Return a section about what is new since the last one; empty if nothing is."""
    engine = story.engine
    start = story.take_new()
    is_new = start < len(story.trace)
    if not is_new and not engine.plan and not engine.core.errors:
        return ""
    highlights = Highlights(story, start)
    lines = highlights.lines()
    parts = ["What to look at", *(f"  {line}" for line in lines), ""] if lines else []
    if is_new:
        parts += ["What happened since the section above" if start else "What happened"]
    labels, mentioned = highlights.labels, [*story.mentioned, *highlights.priced_messages]
    parts += [timeline_text(story, start, labels=labels, mentioned=mentioned)]
    raised = dict.fromkeys(_traceback(error, labels) for error in engine.core.errors)
    for text in list(raised)[:_RAISED]:
        parts += ["", "A route raised", text]
    return "\n".join(parts)


def _traceback(error: BaseException, labels: Labels) -> str:
    return labels.clean("".join(traceback.format_exception(from_outside(error)))).rstrip()
