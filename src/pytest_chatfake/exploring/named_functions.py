"""Finds functions and classes by the dotted names that tests and printed tests give."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from contextlib import suppress
from operator import attrgetter
from types import FunctionType
from typing import Any

from ..base.arguments import cited, shortened


def find_function(what: object, argument: str) -> tuple[str, FunctionType]:
    """Return a function's dotted name, and the plain Python function inside it.

    Raises:
        TypeError: It isn't a function written in Python.
        ValueError: Nothing has that name, or it is a generator.
    """
    found = find_named(what, argument, "a function, or its name such as 'shop.orders.save'")
    function = getattr(inspect.unwrap(found), "__func__", found) if callable(found) else found
    function = inspect.unwrap(function) if callable(function) else function
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"{argument}: expected a function or method written in Python, got "
            f"{cited(what)}. Name one that calls it"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ValueError(
            f"{argument}: expected a function without yield, got {cited(what)}. Name one that it "
            f"calls"
        )
    return dotted_name(what, function), function


def dotted_name(what: object, found: type | FunctionType) -> str:
    """Return the name that something was given by, or else its own."""
    return what if isinstance(what, str) else f"{found.__module__}.{found.__qualname__}"


def find_named(what: object, argument: str, expected: str) -> Any:
    """Return the object that a dotted name refers to; return anything else unchanged."""
    try:
        return _named(what) if isinstance(what, str) else what
    except (AttributeError, ImportError, ValueError) as error:
        problem = shortened(str(error))
        raise ValueError(
            f"{argument}: expected {expected}, got {cited(what)} ({problem})"
        ) from None


def _named(name: str) -> object:
    # Also finds modules that no import statement can name, such as `08_shop`.
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if (module := sys.modules.get(".".join(parts[:length]))) is not None:
            with suppress(AttributeError):  # a submodule may not be imported yet
                return attrgetter(".".join(parts[length:]))(module)
    return pkgutil.resolve_name(name)
