"""Whether somebody debugs: then nothing may be ended because it takes long."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

_DEBUGGERS = {"bdb", "pdb", "pydevd"}


def debugger_is_active() -> bool:
    """Return whether a debugger follows a thread of this process, or waits at its prompt.

    A debugger is known by its tool number (``sys.monitoring``), by a trace function in any thread,
    or by its own frames. Coverage traces, too, and is none; any other tracer may be one.
    """
    monitoring: Any = getattr(sys, "monitoring", None)  # new in Python 3.12
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None:
        return True
    if _is_debuggers(sys.gettrace()):  # most debuggers follow every thread, this one, too
        return True
    # Another thread's trace function can't be asked for; the frames that it follows know it.
    return any(_is_debugged(frame) for frame in list(sys._current_frames().values()))


def _is_debugged(frame: FrameType | None) -> bool:
    while frame is not None:
        if _is_debuggers(frame.f_trace) or frame.f_globals.get("__name__") in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


def _is_debuggers(trace: object) -> bool:
    if trace is None:
        return False
    module = getattr(trace, "__module__", None) or type(trace).__module__
    return not str(module).startswith("coverage")
