"""Tells whether a debugger is active, so that no timeout applies."""

from __future__ import annotations

import sys

#: Whether pytest's debugger is active, according to its hooks: the watchdog can't see its trace
#: function, which is only set in the test's thread.
_is_in_pdb = False


def note_pdb(*, is_active: bool) -> None:
    """Note that pytest has entered or left its debugger."""
    global _is_in_pdb  # noqa: PLW0603 - a process has one debugger
    _is_in_pdb = is_active


def is_debugging() -> bool:
    """Return whether pytest's debugger or an editor's is active, or one traces this thread."""
    tracer = sys.gettrace()
    module = getattr(tracer, "__module__", None) or type(tracer).__module__
    is_traced = tracer is not None and not module.startswith("coverage")
    return _is_in_pdb or is_traced or "pydevd" in sys.modules
