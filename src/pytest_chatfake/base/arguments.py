"""Checks of arguments that several rooms need; their errors say what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

_T = TypeVar("_T", bound=str | None)


def check_str(value: object, what: str) -> str:
    """Return ``value`` if it is text and not empty; otherwise raise a TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__} {value!r}")
    if not value:
        raise ValueError(f"{what} must not be empty")
    return value


def check_bytes(value: object, what: str) -> bytes:
    """Return ``value`` as bytes if it is text or bytes; otherwise raise a TypeError."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        # The value itself is left out: it may be a secret, or a whole document.
        raise TypeError(f"{what} must be text or bytes, not {type(value).__name__}")
    return value


def check_int(value: object, what: str, least: int, most: int | None = None) -> int:
    """Return ``value`` if it is an integer in range; otherwise raise a TypeError or ValueError."""
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


def check_list(value: Iterable[Any], what: str, items: str) -> list[Any]:
    """Return ``value`` as a list; raise a TypeError for a single text, or what has no items.

    ``items`` says what the list holds: ``"seconds such as [10, 30]"``.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of {items}, not {value!r}")
    return list(value)


def check_names(given: Iterable[str], valid: Collection[str], call: str) -> None:
    """Raise a TypeError for a name that a call does not take; it suggests the nearest one."""
    for name in given:
        if name not in valid:
            near = get_close_matches(name, valid, 1)
            hint = f": did you mean {near[0]!r}?" if near else f"; it takes {', '.join(valid)}"
            raise TypeError(f"{call} got an unexpected argument {name!r}{hint}")
