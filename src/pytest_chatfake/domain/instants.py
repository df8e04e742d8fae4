"""Moments as integers: nanoseconds since the epoch, and what people read instead.

Integers are exact where floats are not, compare fast, and are what the process's clock gives.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

__all__ = [
    "MILLISECOND",
    "SECOND",
    "duration",
    "instant",
    "nanoseconds",
    "planned",
    "span",
    "stamp",
]

SECOND = 1_000_000_000
MILLISECOND = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

#: How far ahead something can be planned: the clock is moved to year 9900 at most, and what is
#: planned then is still within the calendar.
_FARTHEST = timedelta(days=36_000)


def instant(moment: int) -> datetime:
    """Return the aware UTC ``datetime`` of a moment, to the microsecond."""
    return _EPOCH + timedelta(microseconds=moment // 1_000)


def nanoseconds(moment: datetime) -> int:
    """Return the moment of an aware ``datetime``."""
    return (moment - _EPOCH) // _MICROSECOND * 1_000


def span(length: timedelta) -> int:
    """Return a length of time in nanoseconds."""
    return length // _MICROSECOND * 1_000


def duration(value: object, what: str) -> int:
    """Return a length of time, given as ``timedelta`` or in seconds, in nanoseconds.

    Raises:
        TypeError: It is neither.
        ValueError: It is negative, or not a finite number.
    """
    if isinstance(value, bool) or not isinstance(value, (timedelta, int, float)):
        raise TypeError(
            f"{what} must be a timedelta or a number of seconds, not {type(value).__name__} "
            f"{value!r}"
        )
    if not isinstance(value, timedelta):
        try:
            value = timedelta(seconds=value)
        except (ValueError, OverflowError):
            raise ValueError(f"{what} must be a finite length of time, not {value!r}") from None
    length = span(value)
    if length < 0:
        raise ValueError(f"{what} must not be negative, and {value} is")
    return length


def planned(value: object, what: str) -> int:
    """Return a length of time after which something is to happen, as :func:`duration` does.

    Raises:
        TypeError: It is none.
        ValueError: It is negative, or longer than anything that can be planned.
    """
    length = duration(value, what)
    if length > span(_FARTHEST):
        raise ValueError(f"{what} must be at most timedelta(days={_FARTHEST.days}), not {value!r}")
    return length


def stamp(moment: int) -> str:
    """Write a moment as the service does: ISO 8601, UTC, milliseconds and ``Z`` (§2.2).

    Digits beyond the millisecond are cut off, not rounded: a stamp is never in the future.
    """
    return _stamp(moment // MILLISECOND)


@lru_cache(maxsize=1024)  # the events of a moment show the same few stamps again and again
def _stamp(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
