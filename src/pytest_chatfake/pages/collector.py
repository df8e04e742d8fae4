"""Collects what a run shows about each test besides its failure, also in xdist workers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import pytest

from ..base.current_test import current
from ..report import active_stories
from ..report.story import Story
from ..report.svg import svg
from ..report.timeline_text import timeline_text
from ..suite.reports import log_errors, record_of, why_unavailable
from .coverage import exercised


class Collector:
    """Looks at each test's fakes before they are gone.

    Args:
        timelines: Whether to keep the timelines, or only what was exercised.
    """

    def __init__(self, *, timelines: bool) -> None:
        self._timelines = timelines
        self._exercised: set[str] = set()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the collected data into a test's last report."""
        report = yield
        if call.when == "teardown":
            record_of(report).update(self.collect())
        return report

    @pytest.hookimpl(optionalhook=True)  # the fake's plugin may be disabled
    def pytest_chatfake_forget(self, story: Story) -> None:
        """Look at a fake whose records are discarded before its test is over."""
        with log_errors("the coverage of a test"):
            entries = story.trace.records[story.begin_of_test() :]
            if entries:  # a fake with a wider scope may have done nothing in this test
                self._exercised |= exercised(entries, story.engine.settings.rules.charge_per)

    def collect(self) -> dict[str, Any]:
        """Return the collected data of a test, ready for JSON, and start over."""
        for story in active_stories.stories():
            self.pytest_chatfake_forget(story)
        collected = {
            "exercised": sorted(self._exercised),
            "timelines": list(self._timelines_of(active_stories.stories())),
            "findings": [
                {
                    "title": found.title,
                    "result": found.result,
                    "text": found.text,
                    "test": found.test,
                    "timelines": list(self._timelines_of(found.stories)),
                }
                for found in current().findings
            ],
        }
        current().findings.clear()
        self._exercised = set()
        return collected

    def _timelines_of(self, stories: Iterable[Story]) -> Iterator[tuple[str, str]]:
        for story in stories if self._timelines else ():
            try:
                start = story.begin_of_test()
                if start < len(story.trace):
                    mentioned = story.mentioned
                    text = timeline_text(story, start, mentioned=mentioned)
                    yield text, svg(story, start, mentioned=mentioned, styled=False)
            except Exception as error:
                yield why_unavailable("the timeline", error), ""
