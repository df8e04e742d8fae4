"""What a run has to show beside its failures: collected test by test, in workers of xdist too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from ..report import active_stories
from ..report.coverage import exercised
from ..report.story import Story
from ..report.svg import Drawing
from .reports import spared, untold

#: Where a report carries what was collected, as JSON knows it: so workers can send it back.
CARRIER: Final = "chat_fake"


class Results:
    """Looks at the fakes of each test before it is over.

    Args:
        coverage: Whether to count what the suite exercised.
        timelines: Whether to keep what happened in each test.
    """

    def __init__(self, *, coverage: bool, timelines: bool) -> None:
        self._coverage = coverage
        self._timelines = timelines
        self._exercised: set[str] = set()
        active_stories.leaving = self._look_at

    def close(self) -> None:
        """Look at no more."""
        active_stories.leaving = None

    def attach(self, report: pytest.TestReport, *, failed: bool) -> None:
        """Put what was collected into the last report of a test.

        Args:
            report: The report of its teardown.
            failed: Whether any phase of it failed.
        """
        setattr(report, CARRIER, self.collected(failed=failed))

    def collected(self, *, failed: bool) -> dict[str, Any]:
        """Return what was collected of a test, and forget it.

        Args:
            failed: Whether any phase of it failed.
        """
        timelines: list[tuple[str, Drawing | None]] = []
        for story in active_stories.stories():
            self._look_at(story)
            if self._timelines:
                timelines += _shown(story, failed=failed)
        carried: dict[str, Any] = {
            "exercised": sorted(self._exercised),
            "timelines": timelines,
        }
        self._exercised.clear()
        return carried

    def _look_at(self, story: Story) -> None:
        with spared("what a test exercised"):
            if self._coverage:
                self._exercised |= exercised(story.trace.entries(story.begin_of_test()))


def _shown(story: Story, *, failed: bool) -> Iterator[tuple[str, Drawing | None]]:
    """Give the text of, and what is drawn of, a timeline, if there is one."""
    try:
        start = story.begin_of_test()
        if start < story.trace.read():
            yield story.text(start, folded=not failed), story.drawing(start)
    except Exception as error:
        yield untold(error), None
