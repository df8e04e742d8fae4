"""The result of one test, for pages and data files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from ..base.redaction import redacted
from ..suite.reports import record_of

#: The outcomes of tests, in the order of the page.
OUTCOMES: Final = (
    "failed",
    "error",
    "interrupted",
    "xpassed",
    "rerun",
    "xfailed",
    "skipped",
    "passed",
)

#: The fields to which the reports of a test's phases add.
_COLLECTED: Final = (
    "highlights",
    "sections",
    "raised",
    "timelines",
    "findings",
    "exercised",
)


@dataclass
class Result:
    """The result of one test, ready for JSON.

    Attributes:
        nodeid: The test's node id.
        line: Its line in its file.
        is_over: Whether all of its phases have ended; False if the run was interrupted during it.
        worst: The first of ``OUTCOMES`` that one of its phases had.
        seconds: How long it took, in real time.
        failure: The failure's text.
        finding: What the fake says about the failure, in a line; empty: nothing.
        highlights: What to look at in the failure.
        sections: The text and the picture of each timeline in the failure.
        raised: The tracebacks of errors that routes raised.
        timelines: The text and the picture of each fake's timeline.
        findings: The findings of other extras, each with its timelines.
        exercised: What it exercised.
        row: Its line of a card, if it is a ready-made test.
        mutants: The verdicts on its mutants; None: it exercised none, or the run had none.
    """

    nodeid: str
    line: int
    is_over: bool = False
    worst: str = "passed"
    seconds: float = 0.0
    failure: str = ""
    finding: str = ""
    highlights: list[str] = field(default_factory=list[str])
    sections: list[tuple[str, str]] = field(default_factory=list[Any])
    raised: list[str] = field(default_factory=list[str])
    timelines: list[tuple[str, str]] = field(default_factory=list[Any])
    findings: list[dict[str, Any]] = field(default_factory=list[Any])
    exercised: list[str] = field(default_factory=list[str])
    row: list[Any] | None = None
    mutants: dict[str, str] | None = None

    @property
    def outcome(self) -> str:
        """How it ended: ``failed``, ``error``, ``skipped``, ``passed``, ..., or not at all."""
        return "interrupted" if not self.is_over and self.worst == "passed" else self.worst

    @property
    def place(self) -> tuple[int, str, int, str]:
        """The place on the page: by outcome, then in the order of the files, also with xdist."""
        file = self.nodeid.partition("::")[0]
        return OUTCOMES.index(self.outcome), file, self.line, self.nodeid

    @property
    def reason(self) -> str:
        """The line to show until the test is opened: why it failed, or what was found."""
        if found := (self.row and self.row[3]) or self.finding:
            return str(found)
        error = re.search("^E +(.+)", self.failure, re.MULTILINE)
        results = ", ".join(finding["result"] for finding in self.findings)
        return error[1] if error else self.failure.partition("\n")[0] or results

    def add(self, report: pytest.TestReport) -> None:
        self.worst = min(self.worst, _outcome(report), key=OUTCOMES.index)
        self.seconds += report.duration
        if report.failed or report.outcome == "rerun":  # type: ignore[comparison-overlap]
            failure = record_of(report).get("failure", report.longreprtext)
            self.failure += f"{redacted(failure)}\n"
        self.add_collected(record_of(report))
        self.is_over = self.is_over or report.when not in {"setup", "call"}

    def add_collected(self, collected: dict[str, Any]) -> None:
        self.finding = self.finding or collected.get("finding", "")
        for name in _COLLECTED:
            getattr(self, name).extend(collected.get(name, []))
        self.row = collected.get("row", self.row)


def _outcome(report: pytest.TestReport) -> str:
    expected = hasattr(report, "wasxfail")
    if report.outcome == "rerun":  # type: ignore[comparison-overlap]
        return "rerun"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "xfailed" if expected else "skipped"
    return "xpassed" if expected and report.when == "call" else "passed"
