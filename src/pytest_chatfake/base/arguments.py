"""Checks of arguments that have no better home; their errors say what to write instead."""

from __future__ import annotations

__all__ = ["text", "whole"]


def text(value: object, what: str) -> str:
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


def whole(value: object, what: str, least: int, most: int | None = None) -> int:
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
