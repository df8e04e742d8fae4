"""Moments as integers: nanoseconds since the epoch, and what people read instead.

Integers are exact where floats are not, compare fast, and are what the process's clock gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..base.arguments import cited

SECOND = 1_000_000_000
MILLISECOND = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)

#: How far ahead something can be planned: the clock is moved to year 9900 at most, and what is
#: planned then is still within the calendar.
_FARTHEST = timedelta(days=36_000)

#: What ``timedelta`` takes.
_UNITS = frozenset({"days", "hours", "microseconds", "milliseconds", "minutes", "seconds", "weeks"})


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
            f"{cited(value)}"
        )
    try:
        length = span(value if isinstance(value, timedelta) else timedelta(seconds=value))
    except (ValueError, OverflowError):
        raise ValueError(f"{what} must be a finite length of time, not {cited(value)}") from None
    if length < 0:
        raise ValueError(f"{what} must not be negative, and {cited(value)} is")
    return length


def length_of(
    call: str, delta: timedelta | float | None, arguments: Mapping[str, float]
) -> timedelta | float:
    """Return the one length of time that a call was given: as it is, or as a ``timedelta`` takes.

    Raises:
        TypeError: None is given, or two, or an argument that ``timedelta`` does not take.
        ValueError: It is not finite.
    """
    name = call.removesuffix("()")
    if (delta is None) == (not arguments):
        raise TypeError(
            f"{call} takes one length of time: {name}(90), {name}(timedelta(days=30)) "
            f"or {name}(days=30)"
        )
    try:
        return timedelta(**arguments) if delta is None else delta
    except TypeError:
        unknown = [f"{unit}=" for unit in arguments if unit not in _UNITS]
        if not unknown:
            raise TypeError(f"{call} takes numbers, not {cited(dict(arguments))}") from None
        raise TypeError(
            f"{call} takes days=, hours=, minutes=, seconds= and whatever else timedelta "
            f"takes, not {', '.join(unknown)}"
        ) from None
    except (OverflowError, ValueError):  # a NaN is the latter
        raise ValueError(
            f"the length to {name} by must be a finite length of time, not {cited(dict(arguments))}"
        ) from None


def planned(value: object, what: str) -> int:
    """Return a length of time after which something is to happen, as :func:`duration` does.

    Raises:
        TypeError: It is none.
        ValueError: It is negative, or longer than anything that can be planned.
    """
    length = duration(value, what)
    if length > span(_FARTHEST):
        raise ValueError(
            f"{what} must be at most timedelta(days={_FARTHEST.days}), not {cited(value)}"
        )
    return length


def stamp(moment: int) -> str:
    """Write a moment as the service does: ISO 8601, UTC, milliseconds and ``Z`` (§2.2).

    Digits beyond the millisecond are cut off, not rounded: a stamp is never in the future.
    """
    return millisecond_stamp(moment // MILLISECOND)


@lru_cache(maxsize=1024)  # the events of a millisecond show the same few stamps again and again
def millisecond_stamp(milliseconds: int) -> str:
    """Write a moment that is given in milliseconds since the epoch, as :func:`stamp` does."""
    at = _NAIVE_EPOCH + timedelta(milliseconds=milliseconds)  # it has no offset to take off
    return at.isoformat("T", "milliseconds") + "Z"


def aware(moment: object, what: str) -> datetime:
    """Return an aware ``datetime``, given as one or as ISO 8601 text.

    Raises:
        TypeError: It is neither.
        ValueError: It has no time zone or no place in the calendar, or the text is not ISO 8601.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(
                f"{what} takes ISO 8601 such as '2026-01-01T12:00:00Z', not {cited(moment)}"
            ) from None
    if not isinstance(moment, datetime):
        raise TypeError(
            f"{what} takes an aware datetime or ISO 8601 text, "
            f"not {type(moment).__name__} {cited(moment)}"
        )
    if moment.utcoffset() is None:
        raise ValueError(
            f"{what} takes a moment with a time zone, and {moment.isoformat()} has none: "
            f"write '{moment.isoformat()}Z', or datetime(..., tzinfo=timezone.utc)"
        )
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(
            f"{what} takes a moment of the years 1 to 9999 in UTC, and {moment.isoformat()} is none"
        ) from None
    return moment


def seconds(nanoseconds: int) -> str:
    """Write a length of time in seconds, as Python would have it: ``86400``, ``0.5``."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{whole}.{rest:09d}".rstrip("0") if rest else f"{whole}"
