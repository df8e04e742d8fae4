"""What a run has to show beside its failures: collected test by test, in workers of xdist too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..report import active_stories
from ..report.coverage import exercised
from ..report.story import Story
from .reports import spared, untold

#: Where a report carries what was collected, as JSON knows it: so workers can send it back.
CARRIER: Final = "chat_fake"


class Results:
    """Looks at the fakes of each test before it is over.

    Args:
        timelines: Whether to keep what happened in each test, too, beside what it exercised.
    """

    def __init__(self, *, timelines: bool) -> None:
        self._timelines = timelines
        self._exercised: set[str] = set()
        active_stories.leaving = self._look_at

    def close(self) -> None:
        """Look at no more."""
        active_stories.leaving = None

    def collected(self) -> dict[str, Any]:
        """Return what was collected of a test, and forget it."""
        for story in active_stories.stories():
            self._look_at(story)
        found = {
            "exercised": sorted(self._exercised),
            "timelines": list(self._shown(active_stories.stories())),
            "explorations": [
                {**vars(one), "stories": list(self._shown(one.stories))}
                for one in active_stories.explored
            ],
        }
        active_stories.explored.clear()
        self._exercised = set()
        return found

    def _look_at(self, story: Story) -> None:
        with spared("what a test exercised"):
            entries = story.trace.records[story.begin_of_test() :]
            self._exercised |= exercised(entries, story.engine.settings.rules.charge_per)

    def _shown(self, stories: Iterable[Story]) -> Iterator[tuple[str, str]]:
        """Give the text and the picture of each timeline, if there is one."""
        for story in stories if self._timelines else ():
            try:
                start = story.begin_of_test()
                if start < len(story.trace):
                    yield story.text(start, folded=True), story.picture(start, styled=False)
            except Exception as error:
                yield untold(error), ""
