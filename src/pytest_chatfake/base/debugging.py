"""Whether a debugger is active: then no timeout applies."""

from __future__ import annotations

import sys

#: Whether pytest's debugger is active, as its hooks tell. Its trace function is set in the test's
#: thread alone, where a watchdog does not see it.
_is_in_pdb = False


def note_pdb(*, is_active: bool) -> None:
    """Note that pytest has entered its debugger, or left it."""
    global _is_in_pdb  # noqa: PLW0603 - a process has one debugger
    _is_in_pdb = is_active


def is_debugging() -> bool:
    """Return whether pytest's debugger is active, or an editor's, or one traces this thread."""
    tracer = sys.gettrace()
    module = getattr(tracer, "__module__", None) or type(tracer).__module__
    is_traced = tracer is not None and not module.startswith("coverage")
    return _is_in_pdb or is_traced or "pydevd" in sys.modules
