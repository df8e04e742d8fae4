"""Amounts in snapshots, and hints about those that an app does not keep exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from ..fake.snapshots import parts, unequal_parts

#: A smaller difference is a float's.
_TINY: Final = Decimal("1e-9")

#: An amount as text. An integer may be anything, such as a count.
_AMOUNT: Final = re.compile(r"-?\d+\.\d+")

_CENT: Final = Decimal("0.01")

#: At most so much of a few messages is rounded away.
_FEW_CENTS: Final = 5 * _CENT

_FLOAT: Final = (
    "\nHint: a float can't hold this amount exactly. Keep money as Decimal, and read it with "
    "json.loads(body, parse_float=Decimal)."
)

_TWO_DECIMALS: Final = (
    "\nHint: the price has more than two decimals. Keep all of its digits, not two decimals or "
    "cents."
)


def hint(expected: Any, found: Any) -> str | None:
    """Say how the app seems to keep amounts that differ.

    Args:
        expected: The right value.
        found: The app's value.

    Returns:
        A line; empty if it isn't clear; None if no numbers differ.
    """
    text = None
    for pair in unequal_parts(expected, found):
        if not all(isinstance(value, Decimal | float | int) for value in pair):
            continue
        exact, kept = (Decimal(str(value)) for value in pair)
        error = abs(exact - kept)
        if error < _TINY:
            return _FLOAT
        if error < _FEW_CENTS and exact % _CENT and not kept % _CENT:
            return _TWO_DECIMALS
        text = ""
    return text


def amounts_in(value: Any, path: str = "") -> dict[str, Decimal]:
    """Return the numbers in a snapshot that may be amounts, by the code that gets each."""
    is_text = isinstance(value, str) and _AMOUNT.fullmatch(value)
    if is_text or isinstance(value, Decimal | float):
        amount = Decimal(str(value))
        return {path: amount} if amount.is_finite() else {}
    found: dict[str, Decimal] = {}
    for name, part, _ in parts(value, value):
        found |= amounts_in(part, path + name)
    return found


def is_about(amount: Decimal, other: Decimal) -> bool:
    """Return whether two amounts are equal, but for what a float loses."""
    return abs(amount - other) < _TINY
