"""Checks of arguments that several rooms need; their errors say what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from types import FunctionType
from typing import Any, Final, TypeGuard, TypeVar

from .misspelt import nearest
from .redaction import redacted

_T = TypeVar("_T", bound=str | None)

#: How many characters of an argument an error cites.
_MOST_CITED = 200

#: Python writes integers of some 4,300 digits at most.
_MOST_BITS = 10_000

#: Flags of code that takes ``*args`` or ``**kwargs``.
_STARRED: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def cited(value: object) -> str:
    """Return an argument as an error cites it: short, and without what a URL has in secret."""
    try:
        text = repr(value)
    except Exception:  # an integer of 5,000 digits, or a __repr__ of the user's
        text = f"<{type(value).__name__} without a repr>"
    return shortened(redacted(text))


def shortened(text: str) -> str:
    """Return a text, cut off at 200 characters."""
    return text if len(text) <= _MOST_CITED else text[: _MOST_CITED - 3] + "..."


def check_str(value: object, what: str) -> str:
    """Return ``value`` if it is text and not empty; otherwise raise a TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__} {cited(value)}")
    if not value:
        raise ValueError(f"{what} must not be empty")
    return value


def check_bytes(value: object, what: str) -> bytes:
    """Return ``value`` as bytes if it is text or bytes.

    Raises:
        TypeError: It is something else.
        ValueError: It is text that has no bytes.
    """
    if isinstance(value, str):
        return utf8(value, what)
    if not isinstance(value, bytes):
        # The value itself is left out: it may be a secret, or a whole document.
        raise TypeError(f"{what} must be text or bytes, not {type(value).__name__}")
    return value


def utf8(text: str, what: str) -> bytes:
    """Return the UTF-8 bytes of a text.

    Raises:
        ValueError: It has a lone surrogate. The text itself is not cited: it may be a secret.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        problem = f"{what} has half of a letter (a lone surrogate) at place {error.start}"
    raise ValueError(f"{problem}: was it decoded with errors='surrogateescape'?")


def check_int(value: object, what: str, least: int, most: int | None = None) -> int:
    """Return ``value`` if it is an integer in range; otherwise raise a TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__} {cited(value)}")
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} must be {limits}, not {cited(value)}")
    return value


def check_share(value: object, what: str) -> None:
    """Refuse what is no number from 0 to 1.

    Raises:
        TypeError: It is no number.
        ValueError: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number from 0 to 1, not {cited(value)}")
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must be from 0 to 1, not {cited(value)}")


def check_seed(value: object) -> None:
    """Refuse what chance can't be drawn from.

    Raises:
        TypeError: It is neither a whole number nor text.
        ValueError: It is a number of thousands of digits, or a text that has no bytes.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(f"seed must be a whole number or text, not {cited(value)}")
    if isinstance(value, str):
        utf8(value, "seed")
    elif value.bit_length() > _MOST_BITS:
        raise ValueError(f"seed must be a whole number of at most {_MOST_BITS} bits")


def check_choice(value: _T, what: str, valid: Collection[str | None]) -> _T:
    """Return ``value`` if it is one of the choices.

    Raises:
        ValueError: It is none of them; the error lists them.
    """
    if value not in valid:
        choices = ", ".join(repr(choice) for choice in valid)
        raise ValueError(f"{what} must be one of {choices}, not {cited(value)}")
    return value


def check_bool(value: object, what: str) -> None:
    """Refuse what is neither ``True`` nor ``False``.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {cited(value)}")


def check_list(value: Iterable[Any], what: str, items: str) -> list[Any]:
    """Return ``value`` as a list; raise a TypeError for a single text, or what has no items.

    ``items`` says what the list holds: ``"seconds such as [10, 30]"``.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of {items}, not {cited(value)}")
    return list(value)


def takes(function: Callable[..., object], *arguments: object) -> bool:
    """Return whether a function can be called with so many arguments, as far as it shows that."""
    called: object = function
    given = len(arguments)
    if not isinstance(function, FunctionType):
        called = _own_call(function)
        given += 1  # itself
    if _is_plain(called):  # `inspect` takes long
        most = called.__code__.co_argcount
        return most - len(called.__defaults__ or ()) <= given <= most
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C show nothing
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _own_call(thing: object) -> object:
    """Return the ``__call__`` that a thing's class defines; None if it says that it is another."""
    if hasattr(thing, "__signature__") or hasattr(thing, "__wrapped__"):
        return None
    return next((vars(c)["__call__"] for c in type(thing).__mro__ if "__call__" in vars(c)), None)


def _is_plain(function: object) -> TypeGuard[FunctionType]:
    """Return whether a function takes what its code takes, one thing for each parameter."""
    if not isinstance(function, FunctionType) or vars(function):
        return False
    code = function.__code__
    return not (code.co_flags & _STARRED or code.co_kwonlyargcount)


def check_plain(function: object, what: str) -> None:
    """Raise a TypeError for a coroutine function, where nobody would await what it returns."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{what} must be a plain function: write `def`, not `async def`")


def check_takes(function: Callable[..., object], what: str, example: str, *arguments: str) -> None:
    """Refuse a function that can't be called as it will be.

    Args:
        function: What was given; callable.
        what: Where it was given.
        example: What to write.
        *arguments: What it will be called with, in words.

    Raises:
        TypeError: It takes other arguments.
    """
    if not takes(function, *arguments):
        told = " and ".join(arguments) or "no argument"
        raise TypeError(
            f"{what} takes a function of {told}, as in {example}, not {cited(function)}"
        )


def check_names(given: Iterable[str], valid: Collection[str], call: str) -> None:
    """Raise a TypeError for a name that a call does not take; it suggests the nearest one."""
    for name in given:
        if name not in valid:
            near = nearest(name, valid)
            hint = f": did you mean {near!r}?" if near else f"; it takes {', '.join(valid)}"
            raise TypeError(f"{call} got an unexpected argument {cited(name)}{hint}")
