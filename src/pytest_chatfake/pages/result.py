"""The result of one test, as pages and data files have it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from ..base.redaction import redacted
from ..suite.reports import record_of

#: How a test may end, in the order in which a page shows them.
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

#: What a test may have several of, in reports of its phases.
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
    """The result of one test; its fields are what JSON knows.

    Attributes:
        nodeid: Its name.
        line: Where it stands in its file.
        is_over: Whether all of its phases have ended; in an interrupted run, that of one has not.
        worst: The first of ``OUTCOMES`` that a phase of it had.
        seconds: How long it took, in real time.
        failure: What its failure says.
        finding: What the fake found, in a line; empty: it has nothing to say of the failure.
        highlights: What to look at in its failure.
        sections: The text and the picture of each timeline that its failure shows.
        raised: The tracebacks of errors that routes raised.
        timelines: The text and the picture of each fake's timeline.
        findings: What other extras have found, each with the timelines of the fakes that show it.
        exercised: What it exercised.
        row: Its line of a card, if it is a ready-made test.
        mutants: What became of its mutants; None: it exercised none, or was not asked.
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
        """Where the page shows it, whichever process ran it, and when."""
        file = self.nodeid.partition("::")[0]
        return OUTCOMES.index(self.outcome), file, self.line, self.nodeid

    @property
    def reason(self) -> str:
        """What is shown of it before it is opened: why it failed, or what was found in it."""
        if found := (self.row and self.row[3]) or self.finding:
            return str(found)
        error = re.search("^E +(.+)", self.failure, re.MULTILINE)
        results = ", ".join(finding["result"] for finding in self.findings)
        return error[1] if error else self.failure.partition("\n")[0] or results

    def add(self, report: pytest.TestReport) -> None:
        """Take in the report of one phase."""
        self.worst = min(self.worst, _outcome(report), key=OUTCOMES.index)
        self.seconds += report.duration
        if report.failed or report.outcome == "rerun":  # type: ignore[comparison-overlap]
            failure = record_of(report).get("failure", report.longreprtext)
            self.failure += f"{redacted(failure)}\n"
        self.add_record(record_of(report))
        self.is_over = self.is_over or report.when not in {"setup", "call"}

    def add_record(self, record: dict[str, Any]) -> None:
        """Take in what was recorded of it: more of its timelines, and of what it exercised."""
        self.finding = self.finding or record.get("finding", "")
        for name in _COLLECTED:
            getattr(self, name).extend(record.get(name, []))
        self.row = record.get("row", self.row)


def _outcome(report: pytest.TestReport) -> str:
    expected = hasattr(report, "wasxfail")
    if report.outcome == "rerun":  # type: ignore[comparison-overlap]
        return "rerun"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "xfailed" if expected else "skipped"
    return "xpassed" if expected and report.when == "call" else "passed"
