"""Makes functions report their calls, by swapping their code for a while.

Patching a name would miss aliases, closures and decorators that keep the function; swapping the
function's code reaches them all.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

from .undoing import undo_with

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

#: What enters a block, and what leaves it. What ends the app just before it leaves a block, or just
#: after it entered one, is passed to the exit like the block's own error: Python would not run it,
#: so a transaction, for example, would stay open.
_EXITS: Final = {"__enter__": "__exit__", "__aenter__": "__aexit__"}


def set_detour(function: FunctionType, call: Callable[..., Any], stack: ExitStack) -> None:
    """Call ``call(original, *args, **kwargs)`` in place of a function, until a stack is closed.

    If the function is async, the result of ``call`` is awaited.
    """
    code = function.__code__
    original = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    is_async = inspect.iscoroutinefunction(function)
    made, called = _code_of_a_detour(code.co_freevars, is_async), partial(call, original)
    constants = tuple(called if constant == "call" else constant for constant in made.co_consts)
    undo_with(stack, partial(setattr, function, "__code__", code))
    function.__code__ = made.replace(co_consts=constants)


@lru_cache  # worlds detour the same functions again and again
def _code_of_a_detour(variables: tuple[str, ...], is_async: bool) -> CodeType:
    free = [f"_{name}" for name in variables]
    prefix, wait = "async " * is_async, "await " * is_async
    source = _SOURCE.format(free=", ".join(free), prefix=prefix, wait=wait)
    names: dict[str, Callable[..., FunctionType]] = {}
    exec(compile(source, __file__, "exec"), names)  # noqa: S102 - executes the text above
    return names["make"](*free).__code__


def find_loaded(place: str) -> Any:
    """Return what ``"module:name"`` is; None if it isn't imported, or of another version."""
    module, _, name = place.partition(":")
    with suppress(KeyError, AttributeError):
        return attrgetter(name)(sys.modules[module])
    return None


def find_functions(places: Iterable[str]) -> Iterator[FunctionType]:
    """Find those of libraries' functions that can be detoured."""
    # Other tools may have replaced one with something else.
    return (found for found in map(find_loaded, places) if isinstance(found, FunctionType))


def set_tripwire(function: FunctionType, report: Report, stack: ExitStack) -> None:
    """Report ``"before"`` and ``"after"`` at each call of a function, until a stack is closed.

    If the function is async, what ``report`` returns is awaited, unless it is None.
    """
    call = _call_async if inspect.iscoroutinefunction(function) else _call
    set_detour(function, partial(call, function, report), stack)


def _call(function: Any, report: Report, original: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        report("before")
    except BaseException as error:
        if _is_exit(function) and _leave(original, args[0], error):
            return True
        raise
    result = original(*args, **kwargs)
    try:
        report("after")
    except BaseException as error:
        if leave := _exit_beside(function, *args[:1]):
            _leave(leave, args[0], error)
        raise
    return result


async def _call_async(
    function: Any, report: Report, original: Any, *args: Any, **kwargs: Any
) -> Any:
    try:
        await _wait(report("before"))
    except BaseException as error:
        if _is_exit(function) and await _leave_async(original, args[0], error):
            return True
        raise
    result = await original(*args, **kwargs)
    try:
        await _wait(report("after"))
    except BaseException as error:
        if leave := _exit_beside(function, *args[:1]):
            await _leave_async(leave, args[0], error)
        raise
    return result


def _is_exit(function: FunctionType) -> bool:
    return function.__name__ in _EXITS.values()


def _exit_beside(function: FunctionType, block: object = None) -> Any:
    # The exit of the block that a function enters; None: it enters none. It is that of the class
    # that has the function, because a subclass may not have entered its own part yet.
    name = _EXITS.get(function.__name__)
    if name is None:
        return None
    owners = (each for each in type(block).__mro__ if function in map(_plain, vars(each).values()))
    return getattr(next(owners, type(block)), name)


def _plain(attribute: object) -> object:
    return inspect.unwrap(attribute) if isinstance(attribute, FunctionType) else attribute


def _leave(leave: Any, block: object, error: BaseException) -> bool:
    # Returns whether the exit swallows the error. A crash is neither swallowed nor replaced.
    with suppress(*_failures(error)):
        swallows = leave(block, type(error), error, error.__traceback__)
        return isinstance(error, Exception) and bool(swallows)
    return False


async def _leave_async(leave: Any, block: object, error: BaseException) -> bool:
    with suppress(*_failures(error)):
        swallows = await leave(block, type(error), error, error.__traceback__)
        return isinstance(error, Exception) and bool(swallows)
    return False


def _failures(error: BaseException) -> tuple[type[Exception], ...]:
    return () if isinstance(error, Exception) else (Exception,)


async def _wait(wait: Awaitable[object] | None) -> None:
    if wait is not None:
        await wait
