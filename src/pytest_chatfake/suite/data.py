"""What a run has to show, as a file of JSON lines: for one result from many machines.

The first line tells of the run, and the last one that the file is whole::

    {"made by": "pytest-chatfake 0.1.0, data 1", "configuration": [...], "status": 0}
    {"nodeid": "tests/test_shop.py::test_sale", "line": 7, "is_over": true, ...}
    {"digest": 3735928559}
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from ..base.arguments import shortened
from .shown import Shown

_FORMAT: Final = 1


def written(head: Mapping[str, Any], tests: Iterable[Shown]) -> str:
    """Write the data of a run.

    Args:
        head: What the first line tells of it.
        tests: Its tests.
    """
    lines = [json.dumps(one) for one in ({"made by": _maker(), **head}, *map(vars, tests))]
    return "\n".join([*lines, _end(lines), ""])


def read(path: str) -> tuple[dict[str, Any], list[Shown]]:
    """Read the data of a run: what the first line tells, and the tests.

    Raises:
        OSError: The file can't be read.
        ValueError: It is another file, of another version, or not as it was written.
    """
    *lines, last = Path(path).read_text("utf-8", "replace").splitlines() or [""]
    first = [*lines, last][0]
    if not first.startswith(f'{{"made by": "{_maker()}"'):
        raise refusal(path, 1, f"the data of a run, by {_maker()}", first)
    if last != _end(lines):
        raise refusal(path, len(lines) + 1, "the end of a file that is as it was written", last)
    head, *tests = map(json.loads, lines)
    return head, [Shown(**test) for test in tests]


def refusal(path: str, line: int, expected: str, got: str) -> ValueError:
    """Return the error for a file that can't be used, because of one of its lines."""
    return ValueError(f"{path}:{line}: expected {expected}, got {shortened(got) or 'nothing'}")


def _maker() -> str:
    return f"pytest-chatfake {version('pytest-chatfake')}, data {_FORMAT}"


def _end(lines: Sequence[str]) -> str:
    return json.dumps({"digest": zlib.crc32("\n".join(lines).encode())})
