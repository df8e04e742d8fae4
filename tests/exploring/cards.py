"""The cards of ready-made tests, as a run shows them at its end."""

import re
from itertools import takewhile


def cards(result):
    """The cards as they are printed, below the names of the classes alone."""
    shown = result.stdout.str()
    lines = shown[re.search(r"^=+ \S+::", shown, re.MULTILINE).start() :].splitlines()
    ended = takewhile(lambda line: not line.startswith("==") or "::" in line, lines)
    return "\n".join(re.sub(r"^=+ \S+::(\S+) =+$", r"\1", line) for line in ended)


def outcomes(result):
    """How each test of each class ended."""
    found = {}
    rows = {}
    for line in cards(result).splitlines():
        if row := re.match(r"(ok|FAILED|skipped|expected) +([a-z_]+)(?::|$)", line):
            rows[row[2]] = row[1]
        elif not line.startswith(" "):
            rows = found[line] = {}
    return found


def card(result):
    """How each test of the only class ended."""
    (only,) = outcomes(result).values()
    return only


def failed(result):
    """Which tests of each class have failed."""
    return {
        title: [test for test, outcome in rows.items() if outcome == "FAILED"]
        for title, rows in outcomes(result).items()
    }
