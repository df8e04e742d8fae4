"""Finds the line of the test that called a verb, to name it in messages.

Under pytest, it is a line of the test function, even if the call itself is in a helper, a fixture,
a route or a receiver, whose line is named second. In one of the app's threads, and outside pytest,
it is the innermost line of the user's code. A library's line would tell the reader nothing, so it
is only named if there is no other.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType
from typing import NamedTuple

from .current_test import CurrentTest, current

_PACKAGE = str(Path(__file__).parents[1]) + os.sep

#: The folders of the standard library and of installed libraries; others are found as we go.
_LIBRARIES = {sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")}
_INSTALLED = ("site-packages", "dist-packages")


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file: The path of the file: the test's, if known. Empty if one of the app's threads made the
            call while no test is known, and its stack has none of the user's lines.
        number: The line number.
        via: The path and line number of the helper that the test called, if any.
        by_app: Whether a thread other than the test's made the call. If its stack has none of the
            user's lines, the line is the first one of the test function.
        is_fallback: Whether none of the user's lines led to the call, as in the built-in scenario
            of ready-made tests. The line is then the first one of the function that pytest runs.
    """

    file: str
    number: int
    via: tuple[str, int] | None = None
    by_app: bool = False
    is_fallback: bool = False

    def __str__(self) -> str:
        if not self.file:
            return "the app"
        here = f"{Path(self.file).name}:{self.number}"
        return here if self.via is None else f"{here} via {Path(self.via[0]).name}:{self.via[1]}"

    @property
    def place(self) -> str:
        """The line with its preposition: ``at test_sale.py:12``, ``by the app, at app.py:41``."""
        if not self.file:
            return "by the app"
        return f"by the app, at {self}" if self.by_app else f"at {self}"


#: For a thread without any of the user's lines while no test is known, such as one that serves a
#: request.
_BY_THE_APP = Line("", 0, by_app=True)


def is_in_fixture() -> bool:
    """Return whether pytest is still running a test's fixtures, and not its function."""
    test = current()
    return _own_code(test) is not None and not test.is_called


def _own_code(test: CurrentTest) -> CodeType | None:
    # pytest-bdd writes a scenario's function itself, so it has none of the user's lines.
    code = test.code
    return None if code is None or _is_library(code.co_filename) else code


def is_by_package() -> bool:
    """Return whether this package called the caller."""
    return is_ours(sys._getframe(2))


def calling_line(depth: int = 2) -> Line:
    """Return the line of the stack to name, as the module explains.

    Each line is one object, so that a loop of a million sends keeps only one.

    Args:
        depth: The number of frames to skip: 2 for the caller of a public method.
    """
    try:
        frame = sys._getframe(depth)
    except ValueError:  # a thread that only runs a verb
        frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    test, place = current(), _place(frame)
    known = test.lines.get(place)
    if known is None:
        line, own = _find(frame, test), _own_code(test)
        # Whoever calls from the test function, or while there is none, the line is the same.
        is_certain = frame.f_code is own or (own is None and _is_visible(frame))
        known = test.lines.setdefault(place if is_certain else line, line)
    found: Line = known
    return found


def _find(frame: FrameType, test: CurrentTest) -> Line:
    # The frame isn't the test function's, but a helper's, a fixture's or another thread's.
    code = _own_code(test)
    own = None if code is None else _frame_of(code, frame)
    visible = _visible(frame, own)
    helper = None if visible is None else _place(visible)
    if code is None:
        is_known = helper or threading.current_thread() is threading.main_thread()
        return Line(*(helper or _place(frame))) if is_known else _BY_THE_APP
    first_line = code.co_filename, code.co_firstlineno
    if own is not None:
        place = _place(own)
    elif threading.get_ident() != test.thread:
        return Line(*(helper or first_line), by_app=True)
    elif test.is_called:
        return Line(*(helper or first_line))
    else:  # a fixture, before the test function
        place = first_line
        if helper and helper[0] == "<string>":  # how execnet starts a worker of xdist
            helper = None
    is_fallback = own is None and helper is None
    return Line(*place, None if helper == place else helper, is_fallback=is_fallback)


def users_lines(frames: Iterable[FrameType]) -> list[str]:
    """Return which frames run the user's code, such as ``app.py:41``."""
    return [str(Line(*_place(frame))) for frame in frames if _is_visible(frame)]


def users_place(error: BaseException) -> str:
    """Return a traceback's last line of the user's code, such as ``app.py:41``; else ``""``."""
    lines = [
        Line(frame.f_code.co_filename, number)
        for frame, number in walk_tb(error.__traceback__)
        if _is_visible(frame)
    ]
    return str(lines[-1]) if lines else ""


def is_users_file(file: str) -> bool:
    """Return whether a file is neither this package's nor a library's."""
    return not (file.startswith(_PACKAGE) or _is_library(file))


def _place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _frame_of(code: CodeType, frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _visible(frame: FrameType | None, end: FrameType | None) -> FrameType | None:
    while frame is not None and frame is not end:
        if frame.f_globals.get("__name__") == "_pytest.runner":
            return None  # beyond it is whatever started pytest, perhaps the user's script
        if _is_visible(frame):
            return frame
        frame = frame.f_back
    return None


def _is_visible(frame: FrameType) -> bool:
    return is_users_file(frame.f_code.co_filename) and not _is_hidden(frame)


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of this package."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


@cache
def _is_library(file: str) -> bool:
    # SQLAlchemy and attrs call code that they generate "<... generated ...>".
    if file.startswith("<"):
        return file.startswith("<frozen ") or " generated " in file
    installed = {path for path in sys.path if Path(path).name in _INSTALLED}
    return file.startswith(tuple(path + os.sep for path in _LIBRARIES | installed))


def _is_hidden(frame: FrameType) -> bool:
    # As pytest decides whether a traceback leaves a frame out.
    if "__tracebackhide__" in frame.f_code.co_varnames:
        return bool(frame.f_locals.get("__tracebackhide__"))
    return bool(frame.f_globals.get("__tracebackhide__"))
