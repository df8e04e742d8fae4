"""Checks of arguments that several rooms need; their errors say what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import TypeVar

_T = TypeVar("_T", bound=str | None)


def check_str(value: object, what: str) -> str:
    """Return ``value`` if it is a text that is not empty.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__} {value!r}")
    if not value:
        raise ValueError(f"{what} must not be empty")
    return value


def check_int(value: object, what: str, least: int, most: int | None = None) -> int:
    """Return ``value`` if it is a whole number in range.

    Raises:
        TypeError: It is no integer, or a bool.
        ValueError: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__} {value!r}")
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} must be {limits}, not {value}")
    return value


def check_choice(value: _T, what: str, valid: Collection[str | None]) -> _T:
    """Return ``value`` if it is one of the choices.

    Raises:
        ValueError: It is none of them; the error lists them.
    """
    if value not in valid:
        choices = ", ".join(repr(choice) for choice in valid)
        raise ValueError(f"{what} must be one of {choices}, not {value!r}")
    return value


def check_bool(value: object, what: str) -> None:
    """Refuse what is neither ``True`` nor ``False``.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {value!r}")


def check_names(given: Iterable[str], valid: Collection[str], call: str) -> None:
    """Refuse names that a call does not take.

    Raises:
        TypeError: One of them is unknown; the error suggests the nearest one.
    """
    for name in given:
        if name not in valid:
            near = get_close_matches(name, valid, 1)
            hint = f": did you mean {near[0]!r}?" if near else f"; it takes {', '.join(valid)}"
            raise TypeError(f"{call} got an unexpected argument {name!r}{hint}")
