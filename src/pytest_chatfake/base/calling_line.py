"""Where in the test a verb was written: the line that a message about it should name.

Under pytest that is a line of the test function, wherever the verb itself stands: in a helper, a
fixture, a route or a receiver, whose line is named after it. Outside pytest it is the innermost
line of the user's. A line of a library is never named where one of the user's is known: it says
nothing to who reads it.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, repeat
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parents[1]) + os.sep

#: Where Python's own library is, and what the path of an installed one has in it, or the name of
#: code that one has generated: so SQLAlchemy's and attrs'.
_PYTHON = tuple(str(Path(sysconfig.get_path(n))) + os.sep for n in ("stdlib", "platstdlib"))
_PACKAGES = ("site-packages", "dist-packages")
_INSTALLED = (*(f"{os.sep}{name}{os.sep}" for name in _PACKAGES), " generated ")


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file: The file's path; the test's, if that is known.
        number: The line's number in it.
        via: The path and the number of the helper's line that the test's line led to, if any.
        elsewhere: Whether another thread did it, while the test stood at its line.
    """

    file: str
    number: int
    via: tuple[str, int] | None = None
    elsewhere: bool = False

    def __str__(self) -> str:
        here = f"{Path(self.file).name}:{self.number}"
        if self.via is None:
            return f"the app, at {here}" if self.elsewhere else here
        helper = f"{Path(self.via[0]).name}:{self.via[1]}"
        return f"{helper} while at {here}" if self.elsewhere else f"{here} via {helper}"

    @property
    def place(self) -> str:
        """The same with its preposition: ``at test_sale.py:12``, ``by the app, at ...``."""
        return f"by {self}" if self.elsewhere and self.via is None else f"at {self}"


#: The test function that pytest runs now, its thread, and whether its fixtures are done.
_test: CodeType | None = None
_thread = 0
_called = False

#: The lines that need no second look: those of the test function; outside pytest, of any code.
_lines: dict[tuple[str, int], Line] = {}
_known: dict[Line, Line] = {}


def watch(code: CodeType | None, *, called: bool = False) -> None:
    """Let lines be those of a test function from now on.

    One that a library has written, as pytest-bdd does for a scenario, has no lines of the user's.
    """
    global _test, _thread, _called
    if code is not None and _is_library(code.co_filename):
        code = None
    _test, _thread, _called = code, threading.get_ident(), called
    _lines.clear()
    _known.clear()


def is_in_fixture() -> bool:
    """Return whether pytest runs the fixtures of a test, and not yet its function."""
    return _test is not None and not _called


@contextmanager
def watching(code: CodeType | None) -> Generator[None]:
    """Let lines be those of a function in a block, if they are a test function's now."""
    before, called = _test, _called
    if before is not None and code is not None:
        watch(code, called=True)
    try:
        yield
    finally:
        if before is not None:
            watch(before, called=called)


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
    line = _lines.get(key)
    if line is None:
        if code is _test or (
            _test is None
            and not _is_library(key[0])
            and "__tracebackhide__" not in code.co_varnames
            and "__tracebackhide__" not in frame.f_globals
        ):
            line = _lines[key] = Line(*key)
        else:
            line = _find(frame)
            line = _known.setdefault(line, line)
    return line


def _find(frame: FrameType) -> Line:
    """Return the line that a frame of the user's stands for, which is not the test's own."""
    if _test is None:
        visible = _visible(frame, None)
        if visible is not None:
            return Line(*_place(visible))
        main = threading.main_thread().ident
        away = next(filter(_is_visible, _stack_of(main or 0)), None)
        return Line(*_place(frame)) if away is None else Line(*_place(away), elsewhere=True)
    if threading.get_ident() != _thread:
        visible = _visible(frame, None)
        helper = None if visible is None else _place(visible)
        test = next((one for one in _stack_of(_thread) if one.f_code is _test), None)
        if test is not None:
            return Line(*_place(test), helper, elsewhere=True)
        if helper is not None:
            return Line(*helper)
        return Line(_test.co_filename, _test.co_firstlineno, elsewhere=True)
    test = _frame_of(_test, frame)
    visible = _visible(frame, test)
    if test is not None:
        place = _place(test)
    elif not _called:  # a fixture: nothing of the test has run yet
        place = _test.co_filename, _test.co_firstlineno
    else:
        return Line(*_place(visible or frame))
    via = None if visible is None else _place(visible)
    return Line(*place, None if via == place else via)


def users_lines(frames: Iterable[FrameType]) -> list[str]:
    """Return the lines of the user's in frames, as ``app.py:41``."""
    visible = filter(_is_visible, frames)
    return [f"{Path(file).name}:{number}" for file, number in map(_place, visible)]


def _place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _stack_of(thread: int) -> list[FrameType]:
    """Return the frames of another thread, the innermost first.

    That thread runs on as soon as it can, and a walk along frames that end meanwhile may crash, or
    never end. So it is one call of C, and no garbage collection runs Python code in it.
    """
    frames: deque[FrameType | None] = deque()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        innermost = sys._current_frames().get(thread)
        frames.extend(accumulate(repeat("f_back"), getattr, initial=innermost))
    except AttributeError:  # of the None behind the last one
        pass
    finally:
        if was_enabled:
            gc.enable()
    return [frame for frame in frames if frame is not None]


def _frame_of(code: CodeType, frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that runs a code."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _visible(frame: FrameType | None, end: FrameType | None) -> FrameType | None:
    """Return the innermost frame before ``end`` that is the user's, and not to be hidden."""
    while frame is not None and frame is not end:
        if _is_visible(frame):
            return frame
        frame = frame.f_back
    return None


def _is_visible(frame: FrameType) -> bool:
    return not (is_ours(frame) or _is_library(frame.f_code.co_filename) or _is_hidden(frame))


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is of this package."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


@cache
def _is_library(file: str) -> bool:
    """Return whether a file is of Python's own library, or of an installed one."""
    return file.startswith((*_PYTHON, "<frozen ")) or any(name in file for name in _INSTALLED)


def _is_hidden(frame: FrameType) -> bool:
    """Return whether pytest would leave a frame out of a traceback."""
    if "__tracebackhide__" in frame.f_code.co_varnames:
        return bool(frame.f_locals.get("__tracebackhide__"))
    return bool(frame.f_globals.get("__tracebackhide__"))
