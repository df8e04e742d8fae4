"""Keeps what a page shows about failures, also in xdist workers."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest

from ..base.current_test import current
from ..base.redaction import redacted
from ..base.tracebacks import is_own
from ..report import active_stories
from ..report.highlights import Highlights
from ..report.section import Section
from ..suite.reports import cause_of, event_of, log_errors, record_of


class Failures:
    """Keeps failures for the page."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep a failure's text, before others add its timeline."""
        report = yield
        if report.failed:
            record_of(report)["failure"] = _text_of(item, call, report)
        return report

    @pytest.hookimpl(optionalhook=True)  # the fake's plugin may be disabled
    def pytest_chatfake_section(self, report: pytest.TestReport, section: Section) -> None:
        """Keep what a failure shows about a fake, and draw the timeline."""
        kept = record_of(report)
        with log_errors("the picture of a timeline"):
            picture = section.picture(styled=False)
            _note_highlights(kept, section.highlights, section.cause)
            kept.setdefault("sections", []).append((section.timeline, picture))
            kept.setdefault("raised", []).extend(section.raised)

    @pytest.hookimpl(specname="pytest_runtest_makereport", wrapper=True, tryfirst=True)
    def pytest_chatfake_finding(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the line that summarises a failure; by now, it has everything else."""
        report = yield
        if call.excinfo is not None and report.failed:
            _note_finding(report, call.excinfo.value)
        return report


def _text_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    # Extras add notes to an error; the page shows their findings separately.
    noted = [(found.error, found.notes) for found in current().findings if found.error is not None]
    if not noted:
        return report.longreprtext
    with pytest.MonkeyPatch.context() as patch:
        for error, notes in noted:
            own = [note for note in error.__notes__ if note not in notes]
            patch.setattr(error, "__notes__", own)
        return pytest.TestReport.from_item_and_call(item, call).longreprtext


def _note_finding(report: pytest.TestReport, error: BaseException) -> None:
    # Without a fake, the failure says it all. The fake's own expectations say what is wrong, and an
    # app's error names its event. After a plain `assert`, the first odd thing in the timeline says
    # more.
    found = current().finding_about(error)
    if found is None and not active_stories.stories():
        return
    kept, said = record_of(report), redacted(cause_of(error))
    is_explained = found is not None and bool(found.sentence)
    if found is not None and not is_explained:
        with log_errors("the highlights of a finding"):
            for story in found.stories:
                highlights = Highlights(story, 0, error)
                _note_highlights(kept, highlights.lines, highlights.cause)
    says_it = is_explained or is_own(error) or event_of(error)
    cause = "" if says_it else kept.get("cause", "")
    says_enough = cause and isinstance(error, AssertionError)
    kept["finding"] = cause if says_enough else "; ".join(filter(None, [cause, said]))


def _note_highlights(kept: dict[str, Any], lines: Iterable[str], cause: str) -> None:
    kept.setdefault("highlights", []).extend(lines)
    kept["cause"] = kept.get("cause") or cause
