"""Finds the app inside middleware and other wrappers, without calling any of them."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, TypeAlias

#: The names that lead from a wrapper to what is inside it, one after the other.
Way: TypeAlias = tuple[str, ...]

#: More objects than any wrapper has on the way to its app.
_MOST: Final = 200


def apps_inside(app: Any) -> Iterator[tuple[Way, Any]]:
    """Yield what an app may pass its requests on to, with the way to it, itself first."""
    waiting: deque[tuple[Way, Any]] = deque([((), app)])
    seen = {id(app)}
    while waiting:
        way, outer = waiting.popleft()
        yield way, outer
        for name, inner in _parts(outer):
            is_new = id(inner) not in seen and len(seen) < _MOST
            if is_new and callable(inner) and _can_be_seen(inner):
                seen.add(id(inner))
                waiting.append(((*way, name), inner))


def _can_be_seen(app: object) -> bool:
    # A class is no wrapper, and a proxy, as of Celery or Flask, would load what it stands for.
    mro = inspect.getmro(type(app))
    is_proxy = any("__class__" in vars(cls) for cls in mro[:-1])
    return not is_proxy and type not in mro


def _parts(app: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(app, "__dict__", {}).copy().items()
    if isinstance(app, functools.partial):
        yield "func", app.func
        yield from ((f"[{index}]", argument) for index, argument in enumerate(app.args))
        yield from app.keywords.items()
    elif inspect.ismethod(app):
        yield "__self__", app.__self__
        yield "__func__", app.__func__
    elif inspect.isfunction(app):
        with suppress(ValueError):  # a variable that has no value yet
            names = inspect.getclosurevars(app)
            yield from {**names.globals, **names.nonlocals}.items()
    else:
        for cls in type(app).__mro__:
            slots = [name for name, part in vars(cls).items() if inspect.ismemberdescriptor(part)]
            yield from ((name, getattr(app, name, None)) for name in slots)
