"""Where in the test a verb was written: the line that a message about it should name.

Under pytest that is a line of the test function, wherever the verb itself stands: in a helper, a
fixture, a route or a receiver, whose line is named after it. In a thread of the app, and outside
pytest, it is the innermost line of the user's. A line of a library is never named where one of the
user's is known: it says nothing to the reader.
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

#: Where Python's own library is, and installed ones. Others are found on the way to modules.
_LIBRARIES = {sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")}
_INSTALLED = ("site-packages", "dist-packages")


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file: The file's path; the test's, if that is known. Empty: it was a thread of the app's,
            and no line is known.
        number: The line's number in it.
        via: The path and the number of the helper's line that the test's line led to, if any.
        by_app: Whether another thread than the test's did it. If that thread runs no line of the
            user's, the line is the first one of the test function.
        is_stand_in: Whether no line of the user's led there, as in the scenario that ready-made
            tests have: it is then the first one of the function that pytest runs.
    """

    file: str
    number: int
    via: tuple[str, int] | None = None
    by_app: bool = False
    is_stand_in: bool = False

    def __str__(self) -> str:
        if not self.file:
            return "the app"
        here = f"{Path(self.file).name}:{self.number}"
        return here if self.via is None else f"{here} via {Path(self.via[0]).name}:{self.via[1]}"

    @property
    def place(self) -> str:
        """The same with its preposition: ``at test_sale.py:12``, ``by the app, at app.py:41``."""
        if not self.file:
            return "by the app"
        return f"by the app, at {self}" if self.by_app else f"at {self}"


#: Of a thread without a line of the user's, where no test is known: such as one that serves a call.
_BY_THE_APP = Line("", 0, by_app=True)


def is_in_fixture() -> bool:
    """Return whether pytest runs the fixtures of a test, and not yet its function."""
    test = current()
    return _own_code(test) is not None and not test.is_called


def _own_code(test: CurrentTest) -> CodeType | None:
    """Return the code of a test's function, unless a library has written it.

    pytest-bdd does for a scenario: it has no lines of the user's.
    """
    code = test.code
    return None if code is None or _is_library(code.co_filename) else code


def calling_line(depth: int = 2) -> Line:
    """Return the line on the stack that led here: see the module.

    The same line gives the same object, so that a loop of many sends costs no memory here.
    """
    try:
        frame = sys._getframe(depth)
    except ValueError:  # a thread that runs nothing but a verb
        frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    key = code.co_filename, frame.f_lineno
    test = current()
    line: Line | None = test.lines.get(key)
    if line is None:
        own = _own_code(test)
        if code is own or (
            own is None
            and not _is_library(key[0])
            and "__tracebackhide__" not in code.co_varnames
            and "__tracebackhide__" not in frame.f_globals
        ):
            line = test.lines[key] = Line(*key)
        else:
            line = _find(frame, test)
            known: Line = test.lines.setdefault(line, line)
            return known
    return line


def _find(frame: FrameType, test: CurrentTest) -> Line:
    """Return the line that a frame of the user's stands for, which is not the test's own."""
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
    else:  # a fixture: nothing of the test has run yet
        place = first_line
        if helper and helper[0] == "<string>":  # what execnet runs a worker of xdist with
            helper = None
    is_stand_in = own is None and helper is None
    return Line(*place, None if helper == place else helper, is_stand_in=is_stand_in)


def users_lines(frames: Iterable[FrameType]) -> list[str]:
    """Return the lines of the user's in frames, as ``app.py:41``."""
    visible = filter(_is_visible, frames)
    return [f"{Path(file).name}:{number}" for file, number in map(_place, visible)]


def users_place(error: BaseException) -> str:
    """Return the last line of the user's in an error's traceback, as ``app.py:41``; or nothing."""
    places = [
        f"{Path(frame.f_code.co_filename).name}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if _is_visible(frame)
    ]
    return places[-1] if places else ""


def _place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _frame_of(code: CodeType, frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that runs a code."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _visible(frame: FrameType | None, end: FrameType | None) -> FrameType | None:
    """Return the innermost frame before ``end`` that is the user's, and not to be hidden.

    What has started pytest, such as its console script, is no part of the test.
    """
    while frame is not None and frame is not end and not _is_runner(frame):
        if _is_visible(frame):
            return frame
        frame = frame.f_back
    return None


def _is_visible(frame: FrameType) -> bool:
    return not (is_ours(frame) or _is_library(frame.f_code.co_filename) or _is_hidden(frame))


def _is_runner(frame: FrameType) -> bool:
    """Return whether pytest runs a test, or its fixtures, by a frame."""
    return frame.f_globals.get("__name__") == "_pytest.runner"


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is of this package."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


@cache
def _is_library(file: str) -> bool:
    """Return whether a file is of Python's own library, or of an installed one."""
    if file.startswith("<"):  # SQLAlchemy and attrs say of their code that they have generated it
        return file.startswith("<frozen ") or " generated " in file
    installed = {path for path in sys.path if Path(path).name in _INSTALLED}
    return file.startswith(tuple(path + os.sep for path in _LIBRARIES | installed))


def _is_hidden(frame: FrameType) -> bool:
    """Return whether pytest would leave a frame out of a traceback."""
    if "__tracebackhide__" in frame.f_code.co_varnames:
        return bool(frame.f_locals.get("__tracebackhide__"))
    return bool(frame.f_globals.get("__tracebackhide__"))
