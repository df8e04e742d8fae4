"""Moments as integers, in nanoseconds since the epoch, and as text.

The process's clock provides such integers and, unlike floats, they are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..base.arguments import unexpected

SECOND = 1_000_000_000
MILLISECOND = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)

#: The longest delay: work that is scheduled in 9900, where the clock stops, must still have a date.
_FARTHEST = timedelta(days=36_000)

#: The arguments of ``timedelta``.
_UNITS = frozenset({"days", "hours", "microseconds", "milliseconds", "minutes", "seconds", "weeks"})


class Moment(int):
    """A moment of the clock, which the rules use, with the moment that its event shows.

    Attributes:
        shown: The moment in the event, in nanoseconds since the epoch.
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
    """Return a moment as its event shows it, in nanoseconds since the epoch."""
    return moment.shown if isinstance(moment, Moment) else moment


def instant(moment: int) -> datetime:
    """Return a moment as an aware ``datetime`` in UTC, to the microsecond."""
    return _EPOCH + timedelta(microseconds=moment // 1_000)


def nanoseconds(moment: datetime) -> int:
    """Return an aware ``datetime`` in nanoseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND * 1_000


def to_nanoseconds(length: timedelta) -> int:
    """Return a duration in nanoseconds."""
    return length // _MICROSECOND * 1_000


def parse_duration(value: object, what: str) -> int:
    """Return a ``timedelta`` or a number of seconds, not negative, in nanoseconds."""
    length = parse_offset(value, what)
    if length < 0:
        raise ValueError(unexpected(what, "0 or more", value))
    return length


def parse_offset(value: object, what: str) -> int:
    """Return a duration in nanoseconds, like :func:`parse_duration`, but possibly negative."""
    if isinstance(value, bool) or not isinstance(value, (timedelta, int, float)):
        raise TypeError(unexpected(what, "a timedelta or a number of seconds", value))
    try:
        return to_nanoseconds(value if isinstance(value, timedelta) else timedelta(seconds=value))
    except (ValueError, OverflowError):
        raise ValueError(unexpected(what, "a finite duration", value)) from None


def length_of(
    call: str, delta: timedelta | float | None, arguments: Mapping[str, float]
) -> timedelta | float:
    """Return the duration in a call such as ``advance(90)`` or ``advance(days=30)``."""
    name = call.removesuffix("()")
    if (delta is None) == (not arguments):
        raise TypeError(
            f"{call} takes one duration: {name}(90), {name}(timedelta(days=30)) or {name}(days=30)"
        )
    if delta is not None:
        return delta
    if unknown := [f"{unit}=" for unit in arguments if unit not in _UNITS]:
        raise TypeError(
            f"{call} takes days=, hours=, minutes=, seconds= and timedelta's other arguments, "
            f"not {', '.join(unknown)}"
        )
    if any(
        isinstance(value, bool) or not isinstance(value, (int, float))
        for value in arguments.values()
    ):
        raise TypeError(unexpected(call, "numbers", dict(arguments)))
    try:
        return timedelta(**arguments)
    except (OverflowError, ValueError):  # ValueError for a NaN
        raise ValueError(unexpected(call, "a finite duration", dict(arguments))) from None


def parse_delay(value: object, what: str) -> int:
    """Return a duration like :func:`parse_duration`, but at most 36,000 days."""
    length = parse_duration(value, what)
    if length > to_nanoseconds(_FARTHEST):
        raise ValueError(unexpected(what, f"at most timedelta(days={_FARTHEST.days})", value))
    return length


def parse_length(value: object, what: str) -> int:
    """Return a duration like :func:`parse_delay`, but greater than 0."""
    length = parse_delay(value, what)
    if not length:
        raise ValueError(unexpected(what, "a duration greater than 0", value))
    return length


def stamp(moment: int) -> str:
    """Write a moment as the service does: ISO 8601, UTC, milliseconds and ``Z`` (§2.2).

    The moment is truncated to the millisecond, not rounded, so that it is never in the future.
    """
    return _stamp_of(moment // MILLISECOND)


@lru_cache(maxsize=1024)  # events of the same millisecond repeat a few stamps
def _stamp_of(milliseconds: int) -> str:
    # Naive, because an aware one's isoformat() would end in +00:00.
    at = _NAIVE_EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat("T", "milliseconds") + "Z"


def aware(moment: object, what: str) -> datetime:
    """Return an aware ``datetime`` unchanged, or parse an ISO 8601 string; refuse naive moments."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            expected = "ISO 8601 such as '2026-01-01T12:00:00Z'"
            raise ValueError(unexpected(what, expected, moment)) from None
    if not isinstance(moment, datetime):
        raise TypeError(unexpected(what, "an aware datetime or an ISO 8601 string", moment))
    if moment.utcoffset() is None:
        raise ValueError(
            f"{what}: expected a moment with a time zone, got {moment.isoformat()}. "
            f"Write '{moment.isoformat()}Z', or datetime(..., tzinfo=timezone.utc)."
        )
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(
            f"{what}: expected a moment in the years 1 to 9999 in UTC, got {moment.isoformat()}"
        ) from None
    return moment


def seconds(nanoseconds: int) -> str:
    """Write nanoseconds as a number of seconds in Python: ``86400``, ``0.5``."""
    whole, rest = divmod(nanoseconds, SECOND)
    return f"{whole}.{rest:09d}".rstrip("0") if rest else f"{whole}"
