"""Moments as integers, in nanoseconds since the epoch, and as text.

Integers are exact where floats are not, compare fast, and are what the process's clock gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..base.arguments import cited, unexpected

SECOND = 1_000_000_000
MILLISECOND = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)

#: The longest delay: the clock moves to year 9900 at most, and work that is scheduled then still
#: has a date.
_FARTHEST = timedelta(days=36_000)

#: What ``timedelta`` takes.
_UNITS = frozenset({"days", "hours", "microseconds", "milliseconds", "minutes", "seconds", "weeks"})


class Moment(int):
    """A moment by the clock, by which all rules go, and what its event says in place of it.

    Attributes:
        shown: That, in nanoseconds, too.
    """

    shown: int

    @classmethod
    def of(cls, moment: int, shown: int) -> Moment:
        """Return a moment that its event shows as another one."""
        made = cls(moment)
        made.shown = shown
        return made

    def __add__(self, length: int) -> Moment:
        return Moment.of(int(self) + length, self.shown + length)


def shown(moment: int) -> int:
    """Return what an event says of a moment."""
    return moment.shown if isinstance(moment, Moment) else moment


def instant(moment: int) -> datetime:
    """Return the aware UTC ``datetime`` of a moment, to the microsecond."""
    return _EPOCH + timedelta(microseconds=moment // 1_000)


def nanoseconds(moment: datetime) -> int:
    """Return the moment of an aware ``datetime``."""
    return (moment - _EPOCH) // _MICROSECOND * 1_000


def to_nanoseconds(length: timedelta) -> int:
    """Return a length of time in nanoseconds."""
    return length // _MICROSECOND * 1_000


def parse_duration(value: object, what: str) -> int:
    """Return a length of time, given as ``timedelta`` or in seconds, in nanoseconds."""
    length = parse_offset(value, what)
    if length < 0:
        raise ValueError(f"{what}: expected 0 or more, got {cited(value)}")
    return length


def parse_offset(value: object, what: str) -> int:
    """Return a length of time as :func:`parse_duration` does; it may be negative."""
    if isinstance(value, bool) or not isinstance(value, (timedelta, int, float)):
        raise TypeError(f"{what}: expected a timedelta or a number of seconds, got {cited(value)}")
    try:
        return to_nanoseconds(value if isinstance(value, timedelta) else timedelta(seconds=value))
    except (ValueError, OverflowError):
        raise ValueError(f"{what}: expected a finite length of time, got {cited(value)}") from None


def length_of(
    call: str, delta: timedelta | float | None, arguments: Mapping[str, float]
) -> timedelta | float:
    """Return the one length of time that a call was given: as it is, or as ``timedelta`` takes."""
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
            raise TypeError(f"{call}: expected numbers, got {cited(dict(arguments))}") from None
        raise TypeError(
            f"{call} takes days=, hours=, minutes=, seconds= and whatever else timedelta "
            f"takes, not {', '.join(unknown)}"
        ) from None
    except (OverflowError, ValueError):  # a NaN is the latter
        raise ValueError(
            f"{call}: expected a finite length of time, got {cited(dict(arguments))}"
        ) from None


def parse_delay(value: object, what: str) -> int:
    """Return a length of time as :func:`parse_duration` does, unless it leaves the calendar."""
    length = parse_duration(value, what)
    if length > to_nanoseconds(_FARTHEST):
        raise ValueError(
            f"{what}: expected at most timedelta(days={_FARTHEST.days}), got {cited(value)}"
        )
    return length


def parse_length(value: object, what: str) -> int:
    """Return a length of time as :func:`parse_delay` does, if it is greater than 0."""
    length = parse_delay(value, what)
    if not length:
        raise ValueError(unexpected(what, "a length greater than 0", value))
    return length


def stamp(moment: int) -> str:
    """Write a moment as the service does: ISO 8601, UTC, milliseconds and ``Z`` (§2.2).

    Digits beyond the millisecond are cut off, not rounded: a stamp is never in the future.
    """
    return _stamp_of(moment // MILLISECOND)


@lru_cache(maxsize=1024)  # the events of a millisecond show the same few stamps again and again
def _stamp_of(milliseconds: int) -> str:
    # A naive datetime has no offset to take off.
    at = _NAIVE_EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat("T", "milliseconds") + "Z"


def aware(moment: object, what: str) -> datetime:
    """Return an aware ``datetime``, given as one or as ISO 8601 text."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError(
                f"{what}: expected ISO 8601 such as '2026-01-01T12:00:00Z', got {cited(moment)}"
            ) from None
    if not isinstance(moment, datetime):
        raise TypeError(f"{what}: expected an aware datetime or ISO 8601 text, got {cited(moment)}")
    if moment.utcoffset() is None:
        raise ValueError(
            f"{what}: expected a moment with a time zone, got {moment.isoformat()}. "
            f"Write '{moment.isoformat()}Z', or datetime(..., tzinfo=timezone.utc)."
        )
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(
            f"{what}: expected a moment of the years 1 to 9999 in UTC, got {moment.isoformat()}"
        ) from None
    return moment


def seconds(nanoseconds: int) -> str:
    """Write a length of time in seconds, as Python would have it: ``86400``, ``0.5``."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{whole}.{rest:09d}".rstrip("0") if rest else f"{whole}"
