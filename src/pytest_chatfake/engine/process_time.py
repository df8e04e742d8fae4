"""Process time: the time that the code under test sees, and the one way to move it."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.errors import ClockError
from ..domain.instants import nanoseconds

if TYPE_CHECKING:
    from time_machine import TimeMachineFixture, Traveller, travel

# An aware datetime in UTC makes time-machine set the process's TZ; in any other fixed zone it
# does not, and unlike an integer it carries microseconds.
_NEUTRAL = timezone(timedelta(hours=1))


_HIDDEN = (
    "the clock can't move time: freezegun was started after it and hides its moves. "
    "Move time with that one (the fake follows), or end it before."
)


class Journey(NamedTuple):
    """A travel of ours, which has to be ended by us."""

    travel: travel
    traveller: Traveller


class ProcessTime:
    """The time that every ``time.time()`` of the process sees, and the one way to move it.

    It follows whoever moves time. It travels itself only when it is asked to move. Then it moves
    the traveller on top of time-machine's stack, whoever started it, because that is the one whose
    time the process sees; and it stops its ticking. Where that one ends, the one below carries on.

    Attributes:
        stands: Whether a fixture has let time stand still.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._stack: list[Traveller] = []  # time-machine's own, from the first move on
        self._top: Traveller | None = None  # the one that was moved last
        self._own: Journey | None = None
        self._seen = time.time_ns()
        self.stands = False

    def read(self) -> int:
        """Return the present in nanoseconds since the epoch."""
        if type(time.time_ns) is BuiltinFunctionType:
            now: int = time.time_ns()
        # freezegun replaces the function, and gives real time to threads with a short stack:
        # there the test's own thread decides what time it is.
        elif threading.get_ident() != self._thread:
            return self._seen
        else:
            # Its function goes through a float, and is a millisecond off every third time.
            now = nanoseconds(datetime.now(UTC))
        if now == self._seen:
            return self._seen  # where time stands still, all records share one integer
        self._seen = now
        return now

    def adopt(self, journey: Journey | None) -> None:
        """Take note that time stands still, and of what has to be ended with the fake."""
        self.stands = True
        self._own = journey

    def forward(self, target: int) -> None:
        """Move time forward to ``target``, or to the first microsecond after it.

        Raises:
            ClockError: freezegun stands between us and the process's time.
        """
        stack = self._stack
        traveller = stack[-1] if stack else None
        if traveller is None or traveller is not self._top:
            traveller = self._take_top()
        before = time.time_ns()
        missing = -((before - target) // 1_000)
        if missing <= 0:
            return
        delta = timedelta(microseconds=missing)
        traveller.shift(delta)
        if time.time_ns() - before < missing * 1_000:
            traveller.shift(-delta)
            raise ClockError(_HIDDEN)

    def _take_top(self) -> Traveller:
        """Return the traveller on top, which ticks no more; start one, if there is none."""
        import time_machine  # noqa: PLC0415 - as in freeze()

        self._stack = time_machine.traveller_stack
        if _is_frozen() and self._stack:
            raise ClockError(_HIDDEN)
        if _is_frozen():
            raise ClockError(
                "freezegun is active: move time with freezegun, the fake follows; "
                "or end it before the clock is moved"
            )
        self._own = freeze(None, None) or self._own
        self._top = self._stack[-1]
        return self._top

    def stop(self) -> None:
        """Give the process its own time back, if it was frozen by us.

        Raises:
            ClockError: Somebody else's travel is on top, and would be ended instead.
        """
        journey, self._own = self._own, None
        if journey is not None:  # time-machine is imported only where it is used
            end(journey)


def freeze(fixture: TimeMachineFixture | None, start: datetime | None) -> Journey | None:
    """Let time stand still with time-machine: at ``start``, or at the present if None.

    Whoever travels already keeps the moment and the time zone, and stops ticking. Under freezegun
    nothing is started: the fake follows it.

    Args:
        fixture: time-machine's own fixture, which is used where there is one: so a test that moves
            time with it moves the same traveller.
        start: A moment with a time zone.

    Returns:
        What has to be ended by us; None if nobody has to, or somebody else has.
    """
    import time_machine  # noqa: PLC0415 - costs more than a fake that never moves time

    if _is_frozen():
        return None
    if time_machine.traveller_stack:
        _stop_ticking(time_machine.traveller_stack[-1])
        return None
    # An aware datetime in a neutral zone: see above.
    moment = datetime.now(_NEUTRAL) if start is None else start.astimezone(_NEUTRAL)
    if fixture is not None:
        fixture.move_to(moment, tick=False)
        return None
    travel = time_machine.travel(moment, tick=False)
    return Journey(travel, travel.start())


def end(journey: Journey | None) -> None:
    """End a travel of ours, if there is one.

    Raises:
        ClockError: Somebody else's is on top.
    """
    import time_machine  # noqa: PLC0415 - as in freeze()

    if journey is None or journey.traveller not in time_machine.traveller_stack:
        return  # somebody has ended it already
    if time_machine.traveller_stack[-1] is not journey.traveller:
        # stop() would end the traveller on top, which is somebody else's.
        raise ClockError(
            "the clock can't end its travel: another time_machine.travel() was started after it. "
            "End that one before the fake is closed."
        )
    journey.travel.stop()


def _stop_ticking(traveller: Traveller) -> None:
    zone: timezone | ZoneInfo = _NEUTRAL
    try:
        if name := os.environ.get("TZ"):  # the traveller may have set it: moving there keeps it
            zone = ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        pass
    traveller.move_to(datetime.now(zone), tick=False)


def _is_frozen() -> bool:
    return type(time.time_ns) is not BuiltinFunctionType and "freezegun" in sys.modules
