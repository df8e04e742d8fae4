"""The cards of ready-made tests, as a run shows them at its end."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def cards(result: pytest.RunResult) -> str:
    """The cards as they are printed, below the names of the classes alone."""
    shown = result.stdout.str()
    lines = shown[re.search(r"^=+ \S+::", shown, re.MULTILINE).start() :].splitlines()
    ended = takewhile(lambda line: not line.startswith("==") or "::" in line, lines)
    return "\n".join(re.sub(r"^=+ \S+::(\S+) =+$", r"\1", line) for line in ended)


def outcomes(result: pytest.RunResult) -> dict[str, dict[str, str]]:
    """How each test of each class ended."""
    found: dict[str, dict[str, str]] = {}
    rows: dict[str, str] = {}
    for line in cards(result).splitlines():
        if row := re.match(r"(ok|FAILED|skipped|expected) +([a-z_]+)(?::|$)", line):
            rows[row[2]] = row[1]
        elif not line.startswith(" "):
            rows = found[line] = {}
    return found


def card(result: pytest.RunResult) -> dict[str, str]:
    """How each test of the only class ended."""
    (only,) = outcomes(result).values()
    return only


def failed(result: pytest.RunResult) -> dict[str, list[str]]:
    """Which tests of each class have failed."""
    return {
        title: [test for test, outcome in rows.items() if outcome == "FAILED"]
        for title, rows in outcomes(result).items()
    }
