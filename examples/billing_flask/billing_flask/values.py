"""JSON, money and time at the edges of the app: exact, or refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable

# Wide enough for every amount that `money` lets in; a sum that would be rounded raises.
_EXACT = Context(prec=80, traps=[Inexact, InvalidOperation])


def load_json(body: bytes) -> Any:
    """Parse JSON with its numbers as written: 0.30 stays ``Decimal("0.30")``.

    Raises:
        ValueError: The body is not JSON.
    """
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def money(value: object) -> Decimal:
    """Return an amount that came out of `load_json`, or out of the settings or the database.

    Raises:
        ValueError: Not a number, or one that no price list would hold (1e999999).
    """
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise ValueError(f"{value!r} is not an amount")
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is not an amount") from None
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or amount.adjusted() > 18 or exponent < -40:
        raise ValueError(f"{value!r} is not an amount")
    return amount


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts without ever rounding."""
    result = Decimal(0)
    for amount in amounts:
        result = _EXACT.add(result, amount)
    return result


def money_text(amount: Decimal) -> str:
    """Write an amount as the database and our own API hold it, without an exponent."""
    return format(amount, "f")


def now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)


def time(value: object) -> datetime:
    """Return an ISO 8601 time.

    Raises:
        ValueError: Not a time, or one without an offset.
    """
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a time")
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no offset")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value!r} is out of range") from None


def time_text(moment: datetime) -> str:
    """Write a time in one form, so that its text sorts as the time does."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
