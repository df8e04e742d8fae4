"""Checks the arguments of ``webhooks.crash()``, ``error()`` and ``concurrently()``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType

from ..base.arguments import check_int, check_str, shown_arguments, unexpected
from ..base.errors import InjectedError
from ..webhooks.attending import Attend
from .crash_watch import CrashWatch
from .database_calls import find_call
from .injected_errors import ErrorWatch, find_error
from .meetings import BY_HAND, Meeting, Overtaking, Place, Point
from .named_functions import find_function
from .point_watch import CrashPoint


def crash_at(nth: int, **given: object) -> tuple[str, Attend]:
    """Return the arguments as a test writes them, and a function that makes the attendant.

    Raises:
        TypeError, ValueError: As :meth:`.Webhooks.crash` says.
    """
    kind, name, functions = _point_of(given, "crash", "line='app.py:41'", find_function)
    point = CrashPoint(kind, name, check_int(nth, "nth", 1))
    shown = shown_arguments(**{kind: name}, nth=None if nth == 1 else nth)
    return ", ".join(shown), partial(CrashWatch, point, functions)


def meet_at(
    by: int, nth: int | None, held: str, timeout: float, **given: object
) -> tuple[str, Place]:
    """Return the arguments as a test writes them, and the place where attempts meet.

    Raises:
        TypeError, ValueError: As :meth:`.Webhooks.concurrently` says.
    """
    is_later, of_two_events = held == "later", check_int(by, "by", 0) > 0
    example = "by=0, line='app.py:41'"
    kind, name, functions = _point_of(given, "concurrently", example, find_call)
    if nth is None and of_two_events:
        raise ValueError(
            "nth: expected a number, because an event is only held once for another one, got "
            "None. With by=0, which posts an event twice, None means each time"
        )
    if is_later and not of_two_events:
        raise ValueError(
            "held='later': expected by=1 or more, which posts an event with a later one, got by=0"
        )
    point = Point(kind, name, None if nth is None else check_int(nth, "nth", 1))
    shown = [
        *shown_arguments(**{kind: name}),
        *[f"nth={nth}"] * (nth != 1),
        *shown_arguments(held="later" if is_later else None),
    ]
    make = partial(Overtaking, is_later_held=is_later) if of_two_events else Meeting
    place = Place(point, next(iter(functions), None), timeout, make)
    if of_two_events:
        place.limits.most = BY_HAND
    return ", ".join(shown), place


def _point_of(
    given: Mapping[str, object],
    verb: str,
    example: str,
    find: Callable[[object, str], tuple[str, FunctionType | None]],
) -> tuple[str, str, dict[FunctionType, str]]:
    # The kind and the name of a point, and the function whose call it is, with its name.
    points = [(kind, what) for kind, what in given.items() if what is not None]
    if len(points) != 1:
        raise TypeError(
            f"{verb}() takes exactly one of line=, before= and after=, as in {verb}({example})"
        )
    ((kind, what),) = points
    functions: dict[FunctionType, str] = {}
    if kind != "line":
        what, function = find(what, kind)
        if function is not None:
            functions[function] = what
    elif not re.fullmatch(r"[^/\\:]+:[1-9]\d*", check_str(what, "line")):
        expected = "a file name and a line, as in 'app.py:41'"
        raise ValueError(unexpected("line", expected, what))
    return kind, str(what), functions


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
    return ", ".join(shown), partial(ErrorWatch, point, {function: name}, kind)
