"""Prints the cards of ready-made tests: one for each class, with a line for each test."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from textwrap import wrap
from typing import Any, Final, NamedTuple

import pytest

from ..base.redaction import redacted
from ..suite.reports import cause_of

#: The first word of a line, by the test's outcome.
_SHOWN: Final = {"passed": "ok", "failed": "FAILED", "xfailed": "expected"}

_INDENT: Final = 11

#: The maximum number of columns that ``-q`` shows of a class without failures.
_WIDTH: Final = 80


@dataclass
class Remarks:
    """What a card says about a test besides its verdict.

    Attributes:
        extent: How much was tried, such as ``12 worlds``.
        notes: What weakens an ``ok``: what was not tried, or what the app did wrong meanwhile.
    """

    extent: str = ""
    notes: list[str] = field(default_factory=list[str])


#: The remarks of a test, in its item's stash.
remarks_key: Final = pytest.StashKey[Remarks]()


class Row(NamedTuple):
    """A line of a card.

    Attributes:
        card: The name of the class, with the parameters of its tests.
        test: The name of the test, without ``test_``.
        verdict: ``ok``, ``FAILED``, ``skipped`` or ``expected`` (to fail).
        cause: Why it failed or was skipped; empty if it passed.
        line: The line at which the test is defined, which sorts a card.
        extent: How much was tried; empty unless it passed.
        notes: What weakens an ``ok``, joined by semicolons; empty if it was skipped.
    """

    card: str
    test: str
    verdict: str
    cause: str
    line: int
    extent: str = ""
    notes: str = ""

    @property
    def text(self) -> str:
        """What stands behind the test's name."""
        return "; ".join(filter(None, (self.cause, self.extent, self.notes)))


def row_of(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Row | None:
    """Return a test's line once its outcome is known, else None."""
    if report.passed and report.when != "call":
        return None
    name = getattr(item, "originalname", item.name)
    parameters = item.name.removeprefix(name)
    outcome = "xfailed" if report.skipped and hasattr(report, "wasxfail") else report.outcome
    error = None if call.excinfo is None else call.excinfo.value
    cause = "" if error is None else cause_of(error)
    if outcome == "failed" and error is None:
        cause = "it passes: remove it from expected_failures"
    card = item.nodeid.removesuffix(f"::{item.name}") + parameters
    shown, line = _SHOWN.get(outcome, outcome), report.location[1] or 0
    remarks = item.stash.get(remarks_key, Remarks())
    extent = remarks.extent * (outcome == "passed")
    notes = "; ".join(dict.fromkeys(remarks.notes)) if outcome != "skipped" else ""
    test = name.removeprefix("test_")
    return Row(card, test, shown, redacted(cause), line, extent, redacted(notes))


def locate_skip(item: pytest.Item, report: pytest.TestReport) -> None:
    """Report a skipped test at the user's ``connect()``, not inside our code."""
    if report.skipped and isinstance(report.longrepr, tuple) and isinstance(item, pytest.Function):
        tests: Any = item.instance
        code = getattr(inspect.unwrap(tests.connect), "__code__", None)
        if code is not None:
            report.longrepr = (code.co_filename, code.co_firstlineno, report.longrepr[2])


def cards_of(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, list[Row]]]:
    """Return each card's name, and its lines in the order of the class."""
    found = [Row(*row) for row in rows]
    last = {(row.card, row.test): row for row in found}  # the last run of a retried test
    ordered = sorted(last.values(), key=attrgetter("card", "line"))
    for card, group in groupby(ordered, attrgetter("card")):
        yield card, list(group)


def show(terminal: pytest.TerminalReporter, rows: Iterable[Sequence[Any]]) -> None:
    """Print the cards; with ``-q``, a card without failures is one line."""
    width = terminal._tw.fullwidth
    for card, lines in cards_of(rows):
        if terminal.verbosity < 0 and all(row.verdict != _SHOWN["failed"] for row in lines):
            text = f"{card}: {_summary(lines)}"
            shown = wrap(text, min(width, _WIDTH), subsequent_indent="  ", break_on_hyphens=False)
        else:
            terminal.section(card)
            shown = [line for row in lines for line in _lines(row, width)]
        for line in shown:
            terminal.line(line)


def _summary(rows: Sequence[Row]) -> str:
    verdicts = Counter(row.verdict for row in rows)
    parts = [f"{verdicts['ok']} ok"]
    if expected := verdicts[_SHOWN["xfailed"]]:
        parts.append(f"{expected} expected to fail")
    skips = [(row.test, row.cause) for row in rows if row.verdict == "skipped"]
    notes = [(row.test, row.notes) for row in rows if row.notes]
    if skips:
        parts.append(f"{len(skips)} skipped: {_grouped(skips)}")
    if notes:
        parts.append(f"{len(notes)} with a note: {_grouped(notes)}")
    return ", ".join(parts)


def _grouped(texts: Iterable[tuple[str, str]]) -> str:
    # Each text once, behind its tests.
    tests: dict[str, list[str]] = {}
    for test, text in texts:
        tests.setdefault(text, []).append(test)
    return "; ".join(f"{', '.join(names)} ({text})" for text, names in tests.items())


def _lines(row: Row, width: int) -> list[str]:
    head = f"{row.verdict:8} {row.test}"
    line = f"{head}: {row.text}" if row.text else head
    if len(line) <= width:
        return [line]
    indent = " " * _INDENT
    return [head, *wrap(row.text, width, initial_indent=indent, subsequent_indent=indent)]
