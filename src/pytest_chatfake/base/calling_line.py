"""Where in the test a verb was written: the line that a message about it should name."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class Line(NamedTuple):
    """A line of the user's code."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.number}"


_lines: dict[tuple[str, int], Line] = {}


def calling_line(depth: int = 2) -> Line:
    """Return the innermost line on the stack that is not of this package.

    The same line gives the same object, so that a loop of many sends costs no memory here.

    Args:
        depth: How many frames to skip unseen, because looking at a frame makes it an object. All
            of them must be of this package: this function, its caller, the caller's caller.
    """
    try:
        frame = sys._getframe(depth)
    except ValueError:  # a thread that runs nothing but a verb
        frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    key = frame.f_code.co_filename, frame.f_lineno
    line = _lines.get(key)
    if line is None:
        line = _lines[key] = Line(*key)
    return line
