"""Argument checks. Each error is one sentence: ``devices: expected an int, got 1.5``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, cast

from .redaction import redacted

_T = TypeVar("_T", bound=str | None)

#: The maximum number of characters of an argument in an error.
_MOST_CITED = 200

#: Python refuses to print an integer of more than 4,300 digits, so a seed has fewer.
_MOST_BITS = 10_000


def cited(value: object) -> str:
    """Return an argument's repr for an error, cut off, and without the secrets of URLs."""
    return shortened(written(value))


def written(value: object) -> str:
    """Return the same as `cited`, but not cut off."""
    try:
        text = repr(value)
    except Exception:  # an integer of 5,000 digits, or the user's __repr__
        text = f"<{type(value).__name__} without a repr>"
    return redacted(text)


def shown_arguments(**arguments: object) -> list[str]:
    """Return ``name=value`` for each argument that is not None."""
    return [f"{name}={cited(value)}" for name, value in arguments.items() if value is not None]


def shortened(text: str) -> str:
    """Cut off a text at 200 characters."""
    return text if len(text) <= _MOST_CITED else text[: _MOST_CITED - 3] + "..."


def unexpected(what: str, expected: str, value: object) -> str:
    """Return the text of a refusal: ``what: expected A, got B``."""
    return f"{what}: expected {expected}, got {cited(value)}"


def alternatives(choices: Iterable[object]) -> str:
    """Return choices for a sentence: ``'a', 'b' or 'c'``."""
    *others, last = map(repr, choices)
    return f"{', '.join(others)} or {last}" if others else last


def check_str(value: object, what: str) -> str:
    """Return a string that is not empty; raise a TypeError or ValueError for anything else."""
    if not isinstance(value, str):
        raise TypeError(unexpected(what, "a str", value))
    if not value:
        raise ValueError(unexpected(what, "a non-empty str", value))
    return value


def check_bytes(value: object, what: str) -> bytes:
    """Return a string as UTF-8, and bytes unchanged; raise a TypeError for anything else."""
    if isinstance(value, str):
        return utf8(value, what)
    if not isinstance(value, bytes):
        # Only the type is shown, because the value may be a secret, or a whole document.
        raise TypeError(f"{what}: expected a str or bytes, got {type(value).__name__}")
    return value


def utf8(text: str, what: str) -> bytes:
    """Encode a string; raise a ValueError for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        index = error.start
    raise ValueError(
        f"{what}: expected text that UTF-8 can encode, got a lone surrogate at index {index}. "
        f"Was it decoded with errors='surrogateescape'?"
    )


def check_int(value: object, what: str, least: int, most: int | None = None) -> int:
    """Return an integer in range; raise a TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(unexpected(what, "an int", value))
    if value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(unexpected(what, f"an int {limits}", value))
    return value


def check_share(value: object, what: str) -> None:
    """Refuse a value that is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(unexpected(what, "a number from 0 to 1", value))
    if not 0 <= value <= 1:
        raise ValueError(unexpected(what, "a number from 0 to 1", value))


def check_seed(value: object) -> None:
    """Refuse a value that can't be a seed."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(unexpected("seed", "an int or a str", value))
    if isinstance(value, str):
        utf8(value, "seed")
    elif value.bit_length() > _MOST_BITS:
        raise ValueError(unexpected("seed", f"an int of at most {_MOST_BITS} bits", value))


def check_choice(value: _T, what: str, valid: Collection[str | None]) -> _T:
    """Return one of the choices; raise an error that lists them for anything else."""
    if value not in valid:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"unknown {what} {cited(value)}: use {alternatives(valid)}")
    return value


def check_bool(value: object, what: str) -> None:
    """Refuse a value that is not a bool."""
    if not isinstance(value, bool):
        raise TypeError(unexpected(what, "a bool", value))


def check_list(value: Iterable[Any], what: str, items: str) -> list[Any]:
    """Return ``value`` as a list; raise a TypeError for a single string or a non-iterable.

    ``items`` names the items in the error: ``"seconds such as [10, 30]"``.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(unexpected(what, f"a list of {items}", value))
    return list(value)


def check_mapping(value: object, what: str) -> Mapping[str, object]:
    """Return a mapping; raise a TypeError for anything else. The keys are not checked."""
    if not isinstance(value, Mapping):
        raise TypeError(unexpected(what, "a mapping of names to values", value))
    return cast("Mapping[str, object]", value)


def takes(function: Callable[..., object], *arguments: object) -> bool:
    """Return whether a function can be called with these arguments, by its own signature.

    A wrapped function's signature may differ, because a decorator can add arguments.
    """
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def check_plain(function: object, what: str) -> None:
    """Refuse coroutine functions, and anything that isn't a function."""
    if not callable(function):
        raise TypeError(unexpected(what, "a function", function))
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{what}: expected a plain function (`def`, not `async def`)")


def check_takes(function: object, what: str, example: str, *arguments: str) -> None:
    """Refuse anything that can't be called with these arguments, named as in the error."""
    if not callable(function) or not takes(function, *arguments):
        taken = " and ".join(arguments) or "no arguments"
        raise TypeError(unexpected(what, f"a function of {taken}, as in {example}", function))


def check_function(function: object, what: str, example: str, *arguments: str) -> None:
    """Refuse whatever `check_takes` refuses, and coroutine functions."""
    check_takes(function, what, example, *arguments)
    check_plain(function, what)


def check_names(given: Iterable[str], valid: Collection[str], call: str) -> None:
    """Raise a TypeError for the first name that a call does not take."""
    for name in given:
        if name not in valid:
            raise TypeError(
                f"{call} got an unexpected argument {cited(name)}. It takes {', '.join(valid)}."
            )
