"""Checks the arguments of ``webhooks.crash()`` and ``webhooks.error()``."""

from __future__ import annotations

import re
from functools import partial
from types import FunctionType

from ..base.arguments import check_int, check_str, shown_arguments, unexpected
from ..base.errors import InjectedError
from ..webhooks.attending import Attend
from .crash_watch import CrashPoint, CrashWatch
from .injected_errors import find_error
from .tripwires import find_function


def crash_at(nth: int, **given: object) -> tuple[str, Attend]:
    """Return the arguments as a test writes them, and a function that makes the attendant.

    Raises:
        TypeError, ValueError: As :meth:`.Webhooks.crash` says.
    """
    points = [(kind, what) for kind, what in given.items() if what is not None]
    if len(points) != 1:
        raise TypeError(
            "crash() takes exactly one of line=, before= and after=, as in crash(line='app.py:41')"
        )
    ((kind, what),) = points
    functions: dict[FunctionType, str] = {}
    if kind != "line":
        what, function = find_function(what, kind)
        functions[function] = what
    elif not re.fullmatch(r"[^/\\:]+:[1-9]\d*", check_str(what, "line")):
        expected = "a file name and a line, as in 'app.py:41'"
        raise ValueError(unexpected("line", expected, what))
    point = CrashPoint(kind, str(what), check_int(nth, "nth", 1))
    shown = shown_arguments(**{kind: point.name}, nth=None if nth == 1 else nth)
    return ", ".join(shown), partial(CrashWatch, point, functions)


def error_at(nth: int, before: object, raises: object) -> tuple[str, Attend]:
    """Return the arguments as a test writes them, and a function that makes the attendant.

    Raises:
        TypeError, ValueError: As :meth:`.Webhooks.error` says.
    """
    name, function = find_function(before, "before")
    dotted, kind = find_error(raises, "raises")
    point = CrashPoint("before", name, check_int(nth, "nth", 1))
    shown = shown_arguments(
        before=name,
        raises=None if kind is InjectedError else dotted,
        nth=None if nth == 1 else nth,
    )
    return ", ".join(shown), partial(CrashWatch, point, {function: name}, raises=kind)
