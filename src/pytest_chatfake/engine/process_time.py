"""Process time: the time that the code under test sees, and the fake's only way to move it.

time-machine keeps a stack of travellers, and only the top one can be moved. It may be the fake's
own, another plugin's or the test's, and it may have changed since the last look; so it is looked up
anew whenever the stack has changed. Freezegun replaces functions of modules instead, and gives real
time to some threads, so with freezegun time is read as the test's code reads it, and can't be
moved.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from types import BuiltinFunctionType
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.errors import ClockError
from ..domain.instants import nanoseconds

if TYPE_CHECKING:
    from time_machine import TimeMachineFixture, Traveller, travel

# A datetime in UTC makes time-machine change the process's TZ; one with another fixed offset does
# not. An integer would not either, but it has no microseconds.
_NEUTRAL = timezone(timedelta(hours=1))

_HIDDEN = (
    "the clock can't move time: freezegun was started after it and hides its moves. "
    "Move time with freezegun (the fake follows), or stop it first."
)
_ACTIVE = "freezegun is active: move time with freezegun (the fake follows), or stop it first"


class Travel:
    """A time-machine travel that the fake starts, and must end.

    An interrupt may happen at any moment, so this object is registered before the travel begins.
    """

    _travel: travel | None = None
    _traveller: Traveller | None = None
    _moment: datetime | None = None
    _depth = 0

    def begin(self, moment: datetime) -> None:
        """Freeze time at a moment."""
        import time_machine  # noqa: PLC0415 - as in freeze()

        self._depth = len(time_machine.traveller_stack)
        self._traveller = None
        self._travel = time_machine.travel(moment, tick=False)
        self._traveller = self._travel.start()

    def begin_on_top(self, moment: datetime) -> None:
        """Freeze time on top of other travels, at their present; without others, at a moment."""
        import time_machine  # noqa: PLC0415 - as in freeze()

        if _freezegun_is_active():
            raise ClockError(
                "freezegun is active, but every run of the body must begin at the same moment. "
                "Stop freezegun first, or freeze time inside the body."
            )
        self._moment = datetime.now(_NEUTRAL) if time_machine.traveller_stack else moment
        self._moment = self._moment.astimezone(_NEUTRAL)
        self.begin(self._moment)

    def begin_again(self) -> None:
        """Move time back to where the travel began."""
        assert self._traveller is not None
        assert self._moment is not None
        self._traveller.move_to(self._moment, tick=False)

    def end(self) -> None:
        """Give the process its real time back, unless that has happened already."""
        if self._travel is None:  # time-machine is only imported when it is used
            return
        import time_machine  # noqa: PLC0415 - as in freeze()

        stack = time_machine.traveller_stack
        traveller = self._traveller or next(iter(stack[self._depth :]), None)
        if not any(other is traveller for other in stack):
            self._travel = None
            return
        if stack[-1] is not traveller:
            self._travel = None
            # stop() would end the traveller on top, which isn't the fake's.
            raise ClockError(
                "the clock can't restore real time: another time_machine.travel() was started "
                "after it. Stop that one before the fake is closed."
            )
        self._travel.stop()
        self._travel = None  # last, so that end() can be called again after an interrupt


class ProcessTime:
    """The time that every ``time.time()`` of the process sees, and the fake's only way to move it.

    If other libraries move time, process time follows; a travel is only started to move time. A
    move stops and shifts the traveller on top of time-machine's stack, because that one sets the
    process's time. When that traveller ends, the one below is moved from then on.

    Attributes:
        is_frozen: Whether a fixture has frozen time.
    """

    def __init__(self) -> None:
        self._stack: list[Traveller] = []  # time-machine's own, from the first move on
        self._top: Traveller | None = None  # the traveller that was moved last
        self._own = Travel()
        self._seen = time.time_ns()
        self.is_frozen: bool = False
        self._stopped_at: int | None = None  # when the fake was closed

    def read(self) -> int:
        """Return the present in nanoseconds since the epoch; a closed fake's time stands still."""
        if self._stopped_at is not None:
            return self._stopped_at
        if type(time.time_ns) is BuiltinFunctionType:
            now: int = time.time_ns()
        else:
            # freezegun's time_ns() goes through a float, so every third value is a millisecond off,
            # and it gives real time to threads with a short stack; datetime.now() does neither.
            now = nanoseconds(datetime.now(UTC))
        seen = self._seen
        if now == seen:
            return seen  # while time is frozen, all records share one integer
        self._seen = now
        return now

    def freeze(self, fixture: TimeMachineFixture | None) -> None:
        """Freeze time at the present until the fake is closed; see :func:`freeze`."""
        self.is_frozen = True
        freeze(self._own, fixture, None)

    def take_over(self, travel: Travel) -> None:
        """Note that a travel has frozen time, which ends with the fake."""
        self.is_frozen = True
        self._own = travel

    def forward(self, target: int) -> None:
        """Move time forward to ``target``, or to the first whole microsecond after it."""
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
        # time-machine doesn't replace the function; a library that does may hide the move.
        if type(time.time_ns) is BuiltinFunctionType:
            return
        if time.time_ns() - before < missing * 1_000:
            traveller.shift(-delta)
            raise ClockError(_HIDDEN)

    def _take_top(self) -> Traveller:
        import time_machine  # noqa: PLC0415 - as in freeze()

        self._stack = time_machine.traveller_stack
        if _freezegun_is_active():
            raise ClockError(_HIDDEN if self._stack else _ACTIVE)
        freeze(self._own, None, None)
        self._top = self._stack[-1]
        return self._top

    def stop(self) -> None:
        """Give the process its real time back, if the fake froze it."""
        self._stopped_at = self.read()
        self._own.end()


def freeze(travel: Travel, fixture: TimeMachineFixture | None, start: datetime | None) -> None:
    """Freeze time with time-machine: at ``start`` (aware), or at the present if None.

    If there is a traveller already, it only stops ticking: its moment and time zone stay. Under
    freezegun, nothing happens, because the fake follows freezegun. If the test uses time-machine's
    own fixture, the fixture's traveller is moved, so that there is only one.
    """
    import time_machine  # noqa: PLC0415 - costs more than a fake that never moves time

    if _freezegun_is_active():
        return
    if time_machine.traveller_stack:
        top = time_machine.traveller_stack[-1]
        if top is not travel._traveller:  # the fake's own traveller is frozen already
            _stop_ticking(top)
        return
    moment = datetime.now(_NEUTRAL) if start is None else start.astimezone(_NEUTRAL)
    if fixture is None:
        travel.begin(moment)
    else:
        fixture.move_to(moment, tick=False)


def _stop_ticking(traveller: Traveller) -> None:
    zone: timezone | ZoneInfo = _NEUTRAL
    try:
        # The traveller may have set it; moving in this zone keeps it.
        if name := os.environ.get("TZ"):
            zone = ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        pass
    traveller.move_to(datetime.now(zone), tick=False)


def _freezegun_is_active() -> bool:
    return type(time.time_ns) is not BuiltinFunctionType and "freezegun" in sys.modules
