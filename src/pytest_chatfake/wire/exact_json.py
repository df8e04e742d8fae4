"""Exact JSON: writes decimals digit for digit, never through a float."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from typing import Any, NoReturn

from ..base.arguments import cited, shortened, unexpected

#: The maximum number of digits in a number, because Python refuses to parse a longer integer.
_MOST_DIGITS = 4_300

#: Larger than any float.
_LARGEST_EXPONENT = 400

#: The maximum depth of nested arrays and objects: far deeper than any body, and far from Python's
#: recursion limit.
_DEEPEST = 100


def number(value: Decimal) -> str:
    """Write a finite decimal as a JSON number, digit for digit and without an exponent."""
    text = str(value)  # faster than format(), and the same for nearly all amounts
    return format(value, "f") if "E" in text or "e" in text else text


def read_number(text: str) -> Decimal:
    """Read a JSON number exactly; raise a ValueError if it would fill the memory when written."""
    try:
        value = Decimal(text)
    except InvalidOperation:  # not even Decimal has such an exponent
        value = None
    if value is None or (value and abs(value.adjusted()) > _LARGEST_EXPONENT):
        raise ValueError(f"the number {shortened(text)} is out of range")
    return value


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's own decoder accepts."""
    raise ValueError(f"not JSON (it has no {name})")


def encode(value: Any, levels: int = _DEEPEST) -> str:
    """Write a value as JSON text, with exact decimals.

    Args:
        value: Any value.
        levels: How deep arrays and objects in the value may be nested.

    Raises:
        TypeError: JSON has no such type.
        ValueError: A number is not finite or too long, or the value is nested too deeply.
    """
    anything: Any = value  # the patterns below narrow `value` to types that are partly unknown
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return _integer(value)
        case Decimal() if value.is_finite():
            if _digits(value) > _MOST_DIGITS:
                raise ValueError(
                    f"{value:.6e} can't be written as a JSON number: it has more than "
                    f"{_MOST_DIGITS} digits"
                )
            return number(value)
        case float() if isfinite(value):
            return float.__repr__(value)
        case Decimal() | float():
            raise ValueError(f"{value} can't be written as a JSON number")
        case dict() | list() | tuple() if not levels:
            raise ValueError(
                f"can't be written as JSON: nested more than {_DEEPEST} levels deep, or in itself"
            )
        case dict():
            return "{" + members(anything, levels - 1)[1:] + "}"
        case list() | tuple():
            return "[" + ",".join([encode(item, levels - 1) for item in anything]) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} {cited(value)} can't be written as JSON")


def members(fields: Mapping[Any, Any], levels: int = _DEEPEST) -> str:
    """Write fields for the inside of a JSON object, each preceded by a comma.

    Raises the same errors as :func:`encode`.
    """
    text = ""
    for key, value in fields.items():
        if not isinstance(key, str):
            raise TypeError(unexpected("a JSON key", "a str", key))
        text += f",{quoted(key)}:{encode(value, levels)}"
    return text


def _digits(value: Decimal) -> int:
    # The digits of a finite decimal, written without an exponent.
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return max(len(digits) + exponent, 1) + max(-exponent, 0)


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:
        raise ValueError("an integer of thousands of digits can't be written as JSON") from None
