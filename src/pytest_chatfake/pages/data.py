"""A run's data as a file of JSON lines, which ``merge`` reads.

The first line is about the run, and the last one shows that the file is complete::

    {"made by": "pytest-chatfake 0.1.0, data 1", "configuration": {...}, "status": 0, ...}
    {"nodeid": "tests/test_shop.py::test_sale", "line": 7, "is_over": true, ...}
    {"digest": 3735928559}
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias

from ..base.arguments import shortened
from .result import Result

_FORMAT: Final = 1

#: A run's mutants: subject and sentence by name; and how many of them are ignored.
Mutants: TypeAlias = tuple[Mapping[str, Sequence[str]], int]


@dataclass
class RunData:
    """A run's data, ready for JSON.

    Attributes:
        configuration: The options that must agree before runs are merged.
        facts: What a page shows about the run, by heading.
        mutants: The mutants; None: the run had none.
        status: The exit status.
        results: The results of its tests.
    """

    configuration: Mapping[str, str]
    facts: Mapping[str, str]
    mutants: Mutants | None
    status: int
    results: list[Result]


def written(run: RunData) -> str:
    """Return the text of a file with a run's data."""
    head = {"made by": _maker(), **vars(run)}
    del head["results"]
    lines = [json.dumps(part) for part in (head, *map(vars, run.results))]
    return "\n".join([*lines, _end(lines), ""])


def read(path: str) -> RunData:
    """Read a file with a run's data.

    Raises:
        OSError: The file can't be read.
        ValueError: The file is of another kind or version, or damaged.
    """
    *lines, last = Path(path).read_text("utf-8", "replace").splitlines() or [""]
    first = [*lines, last][0]
    if not first.startswith(f'{{"made by": "{_maker()}"'):
        raise refusal(path, 1, f"the data of a run, by {_maker()}", first)
    if last != _end(lines):
        raise refusal(path, len(lines) + 1, "the digest of an unchanged file", last)
    head, *results = map(json.loads, lines)
    del head["made by"]
    return RunData(**head, results=[Result(**result) for result in results])


def refusal(path: str, line: int, expected: str, got: str) -> ValueError:
    """Return the error about a line that makes a file unusable."""
    return ValueError(f"{path}:{line}: expected {expected}, got {shortened(got) or 'nothing'}")


def _maker() -> str:
    return f"pytest-chatfake {version('pytest-chatfake')}, data {_FORMAT}"


def _end(lines: Sequence[str]) -> str:
    return json.dumps({"digest": zlib.crc32("\n".join(lines).encode())})
