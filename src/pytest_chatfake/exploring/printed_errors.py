"""Sees the exceptions whose tracebacks an app prints, such as with ``traceback.print_exc()``.

Like an exception that is logged as an error, such a one is named if the app accepted the event.
What an app prints in other words is not seen, nor is a traceback that it only formats: it may be
for a log, whose level then counts.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from contextlib import AbstractContextManager
from typing import Any, Final

from ..webhooks.logged_errors import note_printed
from .tripwires import detour

_PRINT: Final[Any] = traceback.print_exception
_SIGNATURE: Final = inspect.signature(_PRINT)


def printed_errors_noted() -> AbstractContextManager[None]:
    """In a block, note exceptions whose tracebacks are printed to a standard stream."""
    return detour(_PRINT, _print)


def _print(original: Any, *args: Any, **kwargs: Any) -> Any:
    given = _SIGNATURE.bind(*args, **kwargs).arguments
    exception = given.get("value", given["exc"])
    # A logger's formatter prints to a buffer.
    is_shown = given.get("file") in (None, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    if is_shown and isinstance(exception, Exception):
        note_printed(exception)
    return original(*args, **kwargs)
