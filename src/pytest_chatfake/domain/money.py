"""Amounts of money: exact decimals, never a float, never rounded."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation

from ..base.arguments import cited, shortened

#: What a caller may write for an amount.
Money = Decimal | int | str

ZERO = Decimal(0)

#: Wide enough for any sum of amounts that :func:`amount` lets in; a rounding would raise.
EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])

_MAX_DIGITS = 28
_MAX_EXPONENT = 40


def amount(value: object, what: str, meaning: str = "write 0 or more") -> Decimal:
    """Return ``value`` as an exact, finite amount that is not negative.

    Args:
        value: A ``Decimal``, an ``int`` or a text such as ``"0.05"``.
        what: What the amount is, for the error's sentence.
        meaning: What to write instead of a negative one: the end of its sentence.

    Raises:
        TypeError: The value is a float, a bool or no number at all.
        ValueError: The text is no number, or the amount is negative, not finite or too long.
    """
    if type(value) is Decimal:  # the common case, first because it is on the hot path
        result = value
    elif isinstance(value, bool):
        raise TypeError(f"{what} must be an amount such as '0.05', not {value}")
    elif isinstance(value, float):
        text = repr(str(value))
        raise TypeError(
            f"{what} must be exact, and the float {value} is not: write {text} as text, "
            f"or Decimal({text})"
        )
    elif isinstance(value, (int, Decimal)):
        result = Decimal(value)
    elif isinstance(value, str):
        result = _parse(value, what)
    else:
        raise TypeError(
            f"{what} must be a Decimal, an int or a text such as '0.05', "
            f"not {type(value).__name__} {cited(value)}"
        )
    return _checked(result, what, meaning)


def signed(value: object, what: str) -> Decimal:
    """Return ``value`` as :func:`amount` does, but let it be negative."""
    if isinstance(value, str) and value.startswith("-"):
        return amount(value[1:], what).copy_negate()  # a minus would round to the user's context
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    if isinstance(value, Decimal) and value.is_signed() and value:  # a NaN has no `<`
        return amount(value.copy_negate(), what).copy_negate()
    return amount(value, what)


def _parse(text: str, what: str) -> Decimal:
    # Decimal() also takes "1_000", " 1 " and non-Latin digits: more than anyone would want here.
    if text.isascii() and "_" not in text and text == text.strip():
        try:
            return Decimal(text)
        except InvalidOperation:
            pass
    raise ValueError(f"{what} must be a number such as '0.05', not the text {cited(text)}")


def _checked(value: Decimal, what: str, meaning: str) -> Decimal:
    if not value.is_finite():
        raise ValueError(f"{what} must be a finite number such as '0.05', not {value}")
    if not value:
        return ZERO if value.is_signed() else _bounded(value, what)
    if value.is_signed():
        positive = shortened(str(value.copy_negate()))
        raise ValueError(f"{what} must not be negative, and -{positive} is: {meaning}")
    return _bounded(value, what)


def _bounded(value: Decimal, what: str) -> Decimal:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if len(digits) > _MAX_DIGITS or not -_MAX_EXPONENT <= exponent <= _MAX_EXPONENT:
        raise ValueError(
            f"{what} must have at most {_MAX_DIGITS} significant digits and an exponent between "
            f"-{_MAX_EXPONENT} and {_MAX_EXPONENT}, and {shortened(str(value))} has not"
        )
    return value
