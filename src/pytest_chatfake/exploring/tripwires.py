"""Makes functions report their calls, by swapping their code for a while.

Patching a name would miss aliases, closures and decorators that keep the function; swapping the
function's code reaches them all.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, TypeAlias

from ..base.arguments import cited, shortened

#: Takes ``"before"`` or ``"after"``.
Report: TypeAlias = Callable[[str], Awaitable[object] | None]

#: ``__code__`` can only be replaced by code with the same number of free variables.
_SOURCE: Final = """
def make({free}):
    {prefix}def detour(*args, **kwargs):
        lambda: ({free})
        call = "call"
        return {wait}call(*args, **kwargs)
    return detour
"""

#: An error before ``__exit__`` is passed to it like the block's error, or it would commit.
_EXITS: Final = {"__exit__", "__aexit__"}


def set_detour(function: FunctionType, call: Callable[..., Any], stack: ExitStack) -> None:
    """Call ``call(original, *args, **kwargs)`` in place of a function, until a stack is closed.

    If the function is async, the result of ``call`` is awaited.
    """
    code, free = function.__code__, [f"_{name}" for name in function.__code__.co_freevars]
    is_async = inspect.iscoroutinefunction(function)
    prefix, wait = "async " * is_async, "await " * is_async
    source = _SOURCE.format(free=", ".join(free), prefix=prefix, wait=wait)
    names: dict[str, Callable[..., FunctionType]] = {}
    exec(compile(source, __file__, "exec"), names)  # noqa: S102 - executes the text above
    original = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    made, called = names["make"](*free).__code__, partial(call, original)
    constants = tuple(called if constant == "call" else constant for constant in made.co_consts)
    # First, because an interrupt may come at any time.
    stack.callback(setattr, function, "__code__", code)
    function.__code__ = made.replace(co_consts=constants)


def set_tripwire(function: FunctionType, report: Report, stack: ExitStack) -> None:
    """Report ``"before"`` and ``"after"`` at each call of a function, until a stack is closed.

    If the function is async, what ``report`` returns is awaited, unless it is None.
    """
    set_detour(function, partial(_reported(function), report), stack)


def _reported(function: FunctionType) -> Callable[..., Any]:
    is_exit = function.__name__ in _EXITS

    def call(report: Report, original: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            report("before")
        except Exception as error:
            if is_exit and original(args[0], type(error), error, error.__traceback__):
                return True
            raise
        result = original(*args, **kwargs)
        report("after")
        return result

    async def call_async(report: Report, original: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            await _wait(report("before"))
        except Exception as error:
            if is_exit and await original(args[0], type(error), error, error.__traceback__):
                return True
            raise
        result = await original(*args, **kwargs)
        await _wait(report("after"))
        return result

    return call_async if inspect.iscoroutinefunction(function) else call


async def _wait(wait: Awaitable[object] | None) -> None:
    if wait is not None:
        await wait


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
        raise ValueError(f"{argument}: expected {expected}, got {cited(what)}: {problem}") from None


def _named(name: str) -> object:
    # Also finds modules that no import statement can name, such as `08_shop`.
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if (module := sys.modules.get(".".join(parts[:length]))) is not None:
            with suppress(AttributeError):  # a submodule may not be imported yet
                return attrgetter(".".join(parts[length:]))(module)
    return pkgutil.resolve_name(name)
