"""What a run shows of each test beside its failure: collected in workers of xdist, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from ..report import active_stories
from ..report.story import Story
from ..report.svg import svg
from ..report.timeline_text import timeline_text
from ..suite.reports import log_errors, why_unavailable
from .coverage import exercised


class Collector:
    """Looks at the fakes of each test before it is over.

    Args:
        timelines: Whether to keep what happened in each test, too, beside what it exercised.
    """

    def __init__(self, *, timelines: bool) -> None:
        self._timelines = timelines
        self._exercised: set[str] = set()
        active_stories.on_forget = self._look_at

    def close(self) -> None:
        """Look at no more."""
        active_stories.on_forget = None

    def collected(self) -> dict[str, Any]:
        """Return what was collected of a test, as JSON knows it, and forget it."""
        for story in active_stories.stories():
            self._look_at(story)
        found = {
            "exercised": sorted(self._exercised),
            "timelines": list(self._timelines_of(active_stories.stories())),
            "explorations": [
                {
                    "body": exploration.body,
                    "result": exploration.result,
                    "finding": exploration.finding,
                    "test": exploration.test,
                    "timelines": list(self._timelines_of(exploration.stories)),
                }
                for exploration in active_stories.explored()
            ],
        }
        active_stories.explored().clear()
        self._exercised = set()
        return found

    def _look_at(self, story: Story) -> None:
        with log_errors("what a test exercised"):
            entries = story.trace.records[story.begin_of_test() :]
            if entries:  # a fake that lives on may have done nothing in this test
                self._exercised |= exercised(entries, story.engine.settings.rules.charge_per)

    def _timelines_of(self, stories: Iterable[Story]) -> Iterator[tuple[str, str]]:
        """Give the text and the picture of each timeline, if there is one."""
        for story in stories if self._timelines else ():
            try:
                start = story.begin_of_test()
                if start < len(story.trace):
                    mentioned = story.mentioned
                    text = timeline_text(story, start, mentioned=mentioned)
                    yield text, svg(story, start, mentioned=mentioned, styled=False)
            except Exception as error:
                yield why_unavailable(error), ""


def failure_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """Return the text of a failure, without what explorations noted at its errors."""
    noted = [
        (exploration.error, exploration.notes)
        for exploration in active_stories.explored()
        if exploration.error is not None
    ]
    if not noted:
        return report.longreprtext
    with pytest.MonkeyPatch.context() as patch:
        for error, notes in noted:
            own = [note for note in error.__notes__ if note not in notes]
            patch.setattr(error, "__notes__", own)
        return pytest.TestReport.from_item_and_call(item, call).longreprtext
