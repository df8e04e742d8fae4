"""Where in the test a verb was written: the line that a message about it should name.

Under pytest that is a line of the test function, wherever the verb itself stands: in a helper, a
fixture, a route or a receiver, whose line is named after it. Outside pytest it is the innermost
line of the user's.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file: The file's path; the test's, if that is known.
        number: The line's number in it.
        via: The path and the number of the helper's line that the test's line led to, if any.
        elsewhere: Whether the helper ran in another thread, while the test stood at its line.
    """

    file: str
    number: int
    via: tuple[str, int] | None = None
    elsewhere: bool = False

    def __str__(self) -> str:
        here = f"{Path(self.file).name}:{self.number}"
        if self.via is None:
            return here
        helper = f"{Path(self.via[0]).name}:{self.via[1]}"
        return f"{helper} while at {here}" if self.elsewhere else f"{here} via {helper}"


class _Watched(NamedTuple):
    """The test function that pytest runs now: its code, its thread, and whether it was called."""

    code: CodeType
    thread: int
    called: bool


_watched: _Watched | None = None

#: The lines that need no second look: those of the test function; outside pytest, of any code.
_lines: dict[tuple[str, int], Line] = {}
_known: dict[Line, Line] = {}


def watch(code: CodeType | None, *, called: bool = False) -> None:
    """Let lines be those of a test function from now on.

    Args:
        code: The function's; None: no test is running.
        called: Whether it is running, and not only its fixtures.
    """
    global _watched  # noqa: PLW0603 - there is one test at a time in a process
    _watched = None if code is None else _Watched(code, threading.get_ident(), called)
    _lines.clear()
    _known.clear()


def calling_line(depth: int = 2) -> Line:
    """Return the line on the stack that led here: see the module.

    The same line gives the same object, so that a loop of many sends costs no memory here.

    Args:
        depth: How many calls lie between this function and the test's line at least: with fewer of
            them the test's line would be skipped. To look at a frame makes it an object, so the
            search begins as far out as it can.
    """
    try:
        frame = sys._getframe(depth)
    except ValueError:  # a thread that runs nothing but a verb
        frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    line = _lines.get((frame.f_code.co_filename, frame.f_lineno))
    if line is None:
        line = _find(frame)
        line = _known.setdefault(line, line)
    return line


def _find(frame: FrameType) -> Line:
    """Return the line that a frame of the user's stands for."""
    watched = _watched
    if watched is None:
        found = _visible(frame, None) or frame
        line = Line(*_place(found))
        if found is frame:
            _lines[_place(frame)] = line
        return line
    if threading.get_ident() != watched.thread:
        helper = _place(_visible(frame, None) or frame)
        test = _frame_of(watched.code, sys._current_frames().get(watched.thread))
        return Line(*helper) if test is None else Line(*_place(test), helper, elsewhere=True)
    test = _frame_of(watched.code, frame)
    if test is frame:
        line = _lines[_place(frame)] = Line(*_place(frame))
        return line
    visible = _visible(frame, test)
    if test is not None:
        place = _place(test)
    elif not watched.called:  # a fixture: nothing of the test has run yet
        place = watched.code.co_filename, watched.code.co_firstlineno
    else:
        return Line(*_place(visible or frame))
    via = None if visible is None else _place(visible)
    return Line(*place, None if via == place else via)


def _place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _frame_of(code: CodeType, frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that runs a code."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _visible(frame: FrameType | None, end: FrameType | None) -> FrameType | None:
    """Return the innermost frame before ``end`` that is the user's, and not to be hidden."""
    while frame is not None and frame is not end:
        if not frame.f_code.co_filename.startswith(_PACKAGE) and not _is_hidden(frame):
            return frame
        frame = frame.f_back
    return None


def _is_hidden(frame: FrameType) -> bool:
    """Return whether pytest would leave a frame out of a traceback."""
    if "__tracebackhide__" in frame.f_code.co_varnames:
        return bool(frame.f_locals.get("__tracebackhide__"))
    return bool(frame.f_globals.get("__tracebackhide__"))
