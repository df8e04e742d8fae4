"""Whether somebody debugs, so that nothing is late."""

from __future__ import annotations

import sys

#: Whether pytest's debugger is active; its hooks say so. Its trace function is its own thread's.
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
