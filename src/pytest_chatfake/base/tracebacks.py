"""Errors in reports: their texts, and tracebacks without our frames unless the bug is ours."""

from __future__ import annotations

import ast
import sys
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from .calling_line import Line

if TYPE_CHECKING:
    import pytest

#: The note of an error that an app would not have raised in its lifespan.
NO_LIFESPAN: Final = "the app's lifespan has not run: enter chat_fake.webhooks.lifespan(app)"

_PACKAGE = __name__.partition(".")[0]


def text_of(error: BaseException) -> str:
    """Return an error's text, whatever its class does to it: a report must not fail for that."""
    try:
        return str(error)
    except Exception:  # of a class of the user's
        return "(its text can't be shown)"


def hide_our_frames() -> None:
    """Make pytest ask, at each frame of a module of ours, whether to leave it out."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and isinstance(module, ModuleType):
            vars(module)["__tracebackhide__"] = _is_hidden


def _is_hidden(excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether an error ends in one of our refusals or in a user's code: both are not our fault."""
    if excinfo is None:
        return False
    entries: list[Any] = list(excinfo.traceback)
    while len(entries) > 1 and _top(entries[-1].frame.f_globals) in sys.stdlib_module_names:
        entries.pop()  # an error of the standard library is the fault of its caller
    last = entries[-1]
    if _top(last.frame.f_globals) != _PACKAGE:
        return True
    return str(last.statement).lstrip().startswith(("raise ", "warnings.warn"))


def from_outside(error: BaseException) -> BaseException:
    """Return an error whose traceback begins at the first frame that is not of this package."""
    traceback = error.__traceback__
    while traceback is not None and _top(traceback.tb_frame.f_globals) == _PACKAGE:
        traceback = traceback.tb_next
    return error if traceback is None else error.with_traceback(traceback)


def raised_at(error: Exception, line: Line) -> Exception:
    """Return an error as a line of the test would have raised it; its frame is gone by now."""
    at = {"lineno": 1, "end_lineno": 1, "col_offset": -1, "end_col_offset": -1}  # no column
    raising = ast.Raise(ast.Name("error", ast.Load(), **at), None, **at)
    code = compile(ast.Module([raising], []), line.file, "exec")
    code = code.replace(co_firstlineno=line.number)
    with suppress(Exception):
        exec(code, {"error": error})  # noqa: S102 - nothing but that
    return error


def _top(module: dict[str, Any]) -> str:
    name: str = module.get("__name__", "")
    return name.partition(".")[0]
