"""Sees the exceptions that an app prints or reports past any log.

It may print a traceback, such as with ``traceback.print_exc()``, or call a service such as Sentry.
Like an exception that is logged as an error, such a one is named if the app accepted the event.
What an app prints in other words is not seen, nor is a traceback that it only formats: it may be
for a log, whose level then counts.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import ExitStack
from itertools import chain
from typing import Any, Final, cast

from ..webhooks.logged_errors import note_printed
from .tripwires import find_functions, set_detour

#: Functions of libraries that show or report an exception: they take it, or the one that is being
#: handled.
_REPORTS: Final = (
    "sentry_sdk.api:capture_exception",
    "rollbar:report_exc_info",
    "bugsnag.legacy:notify",
    "honeybadger.core:Honeybadger.notify",
    "rich.console:Console.print_exception",
    "stackprinter:show",
    "logbook.base:LoggerMixin.exception",
    "eliot._traceback:write_traceback",
)


def note_printed_errors(stack: ExitStack) -> None:
    """Until a stack is closed, note what is reported, or printed to a standard stream."""
    for call, places in ((_print, ["traceback:print_exception"]), (_report, _REPORTS)):
        for function in find_functions(places):
            set_detour(function, call, stack)


def _report(original: Any, *args: Any, **kwargs: Any) -> Any:
    given = [*args, *kwargs.values(), *sys.exc_info()]
    of_tuples = [cast("tuple[object, ...]", each) for each in given if isinstance(each, tuple)]
    errors = (
        each
        for each in chain(*of_tuples, given)  # a tuple is what sys.exc_info() has returned
        if isinstance(each, BaseException)
    )
    exception = next(errors, None)
    if isinstance(exception, Exception):
        note_printed(exception)
    return original(*args, **kwargs)


def _print(original: Any, *args: Any, **kwargs: Any) -> Any:
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    exception = given.get("value", given["exc"])
    # A logger's formatter prints to a buffer.
    is_shown = given.get("file") in (None, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    if is_shown and isinstance(exception, Exception):
        note_printed(exception)
    return original(*args, **kwargs)
