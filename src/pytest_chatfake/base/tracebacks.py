"""What the report of a failed test shows of this package: nothing, where a test did the wrong."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


_PACKAGE = __name__.partition(".")[0]


def hide_our_frames() -> None:
    """Tell pytest when to leave the frames of this package out, whose modules it asks."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and isinstance(module, ModuleType):
            vars(module)["__tracebackhide__"] = _is_no_fault_of_ours


def _is_no_fault_of_ours(excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether an error ends in a refusal, or in a user's app.

    One that nobody raised on purpose is ours, and is shown as it is.
    """
    if excinfo is None:
        return False
    entries: list[Any] = list(excinfo.traceback)
    while len(entries) > 1 and _top(entries[-1].frame.f_globals) in sys.stdlib_module_names:
        entries.pop()  # whoever called the standard library is whose fault it is
    last = entries[-1]
    if not _is_ours(last.frame.f_globals):
        return True
    return str(last.statement).lstrip().startswith(("raise ", "warnings.warn"))


def from_outside(error: BaseException) -> BaseException:
    """Return an error with a traceback that begins where our own code ends, if it goes on there."""
    traceback = error.__traceback__
    while traceback is not None and _is_ours(traceback.tb_frame.f_globals):
        traceback = traceback.tb_next
    return error if traceback is None else error.with_traceback(traceback)


def _is_ours(module: dict[str, Any]) -> bool:
    return _top(module) == _PACKAGE


def _top(module: dict[str, Any]) -> str:
    name: str = module.get("__name__", "")
    return name.partition(".")[0]
