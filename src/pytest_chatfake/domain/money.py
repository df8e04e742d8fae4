"""Amounts of money: exact decimals, never a float, never rounded."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import reduce

from ..base.arguments import shortened, unexpected

#: What a caller may pass as an amount.
Money = Decimal | int | str

ZERO = Decimal(0)

#: Precise enough for any sum of amounts that :func:`amount` accepts; rounding raises.
EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])

_MAX_DIGITS = 28
_MAX_EXPONENT = 40


def amount(value: object, what: str, hint: str = "") -> Decimal:
    """Return ``value`` as an exact, finite amount that is not negative.

    Args:
        value: What the caller passed.
        what: The name of the argument in errors.
        hint: What to write instead of a negative amount.

    Raises:
        TypeError: The value is a float, whose digits are not exact, or not a number at all.
        ValueError: The value is negative, not finite, not a number, or has too many digits.
    """
    if isinstance(value, float):
        raise TypeError(
            f'{what} must be exact: use "{value}" or Decimal("{value}") instead of the float '
            f"{value}"
        )
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        result = Decimal(value)
    elif isinstance(value, str):
        result = _parse(value, what)
    else:
        raise TypeError(unexpected(what, "a Decimal, an int or a str", value))
    if not result.is_finite():
        raise ValueError(f"{what}: expected a finite amount, got {result}")
    if not result and result.is_signed():
        return ZERO
    if result.is_signed():
        positive = shortened(str(result.copy_negate()))
        raise ValueError(f"{what}: expected 0 or more, got -{positive}{hint and f'. {hint}'}")
    _, digits, exponent = result.as_tuple()
    assert isinstance(exponent, int)
    if len(digits) > _MAX_DIGITS or not -_MAX_EXPONENT <= exponent <= _MAX_EXPONENT:
        raise ValueError(
            f"{what}: {shortened(str(result))} is out of range "
            f"(at most {_MAX_DIGITS} digits, exponent -{_MAX_EXPONENT}..{_MAX_EXPONENT})"
        )
    return result


def signed(value: object, what: str) -> Decimal:
    """Return an amount like :func:`amount`, but possibly negative."""
    if isinstance(value, str) and value.startswith("-"):
        # A unary minus would round as in the user's context.
        return amount(value[1:], what).copy_negate()
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    # Not `value < 0`, because a NaN can't be compared.
    if isinstance(value, Decimal) and value.is_signed() and value:
        return amount(value.copy_negate(), what).copy_negate()
    return amount(value, what)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of amounts; sum() would round as in the user's context."""
    return reduce(EXACT.add, amounts, ZERO)


def _parse(text: str, what: str) -> Decimal:
    # Decimal() also accepts "1_000", " 1 " and digits of other scripts, which are surely mistakes.
    if text.isascii() and "_" not in text and text == text.strip():
        try:
            return Decimal(text)
        except InvalidOperation:
            pass
    raise ValueError(unexpected(what, "a number such as '0.05'", text))
