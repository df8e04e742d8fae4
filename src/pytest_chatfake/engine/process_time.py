"""Process time: the time that the code under test sees, and the one way to move it."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.errors import ClockError
from ..domain.instants import nanoseconds

if TYPE_CHECKING:
    from time_machine import TimeMachineFixture

# An aware datetime in UTC makes time-machine set the process's TZ; in any other fixed zone it
# does not, and unlike an integer it carries microseconds.
_NEUTRAL = timezone(timedelta(hours=1))


class Traveller(Protocol):
    """Who moves the time of the process."""

    def shift(self, delta: timedelta) -> None:
        """Move time by so much."""
        ...

    def move_to(self, destination: datetime, tick: bool | None = None) -> None:
        """Move time to a moment."""
        ...


class ProcessTime:
    """The time that every ``time.time()`` of the process sees, and the one way to move it.

    It follows whoever moves time. It travels itself only when it is asked to move, and then with
    the traveller that is there already, so that the user's own time-machine and the fake agree.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._traveller: Traveller | None = None
        self._stop: list[object] = []
        self._seen = time.time_ns()

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

    def adopt(self, traveller: Traveller | None) -> None:
        """Move time with this traveller from now on; None: find one when time is first moved."""
        self._traveller = traveller

    @property
    def travels(self) -> bool:
        """Whether there is a traveller to move time with."""
        return self._traveller is not None

    def forward(self, target: int) -> None:
        """Move time forward to ``target``, or to the first microsecond after it.

        Raises:
            ClockError: Somebody else's traveller stands between us and the process's time.
        """
        traveller = self._traveller or self._start()
        before = time.time_ns()
        missing = -((before - target) // 1_000)
        if missing <= 0:
            return
        delta = timedelta(microseconds=missing)
        traveller.shift(delta)
        if time.time_ns() - before < missing * 1_000:
            traveller.shift(-delta)
            if _has_ended(traveller):  # with the block of a test that began it
                self._stop, self._traveller = [], None
                self.forward(target)
                return
            raise ClockError(
                f"the clock can't move time: {_culprit()} was started after it and hides its "
                f"moves. Move time with that one (the fake follows), or end it before."
            )

    def _start(self) -> Traveller:
        import time_machine  # noqa: PLC0415 - as in freeze()

        if time_machine.traveller_stack:
            traveller = time_machine.traveller_stack[-1]
            _freeze(traveller)
        else:
            travel = time_machine.travel(datetime.now(_NEUTRAL), tick=False)
            try:
                traveller = travel.start()
            except RuntimeError:
                raise ClockError(
                    "freezegun is active: move time with freezegun, the fake follows; "
                    "or end it before the clock is moved"
                ) from None
            self._stop = [travel, traveller]
        self._traveller = traveller
        return traveller

    def stop(self) -> None:
        """Give the process its own time back, if it was frozen here."""
        if not self._stop:
            return
        import time_machine  # noqa: PLC0415 - it is there when a travel is

        travel, traveller = self._stop
        self._stop, self._traveller = [], None
        if time_machine.traveller_stack and time_machine.traveller_stack[-1] is traveller:
            assert isinstance(travel, time_machine.travel)
            travel.stop()
        elif traveller in time_machine.traveller_stack:
            # stop() would end the traveller on top, which is somebody else's.
            raise ClockError(
                f"the clock can't end its travel: {_culprit()} was started after it. "
                f"End that one before the fake is closed."
            )


def freeze(fixture: TimeMachineFixture, start: datetime | None) -> Traveller | None:
    """Let time stand still with time-machine's fixture: at ``start``, or at the present if None.

    Whoever travels already keeps the moment and the time zone, and stops ticking. Under freezegun
    nothing is started: the fake follows it.

    Returns:
        Who travels now; None under freezegun.
    """
    import time_machine  # noqa: PLC0415 - costs more than a fake that never moves time

    traveller: Traveller = fixture
    if fixture.traveller is None and time_machine.traveller_stack:
        traveller = time_machine.traveller_stack[-1]
    elif fixture.traveller is None and start is not None:
        try:
            fixture.move_to(start.astimezone(_NEUTRAL), tick=False)
        except RuntimeError:
            return None
        return traveller
    try:
        _freeze(traveller)
    except RuntimeError:
        return None
    return traveller


def _freeze(traveller: Traveller) -> None:
    zone: timezone | ZoneInfo = _NEUTRAL
    try:
        if name := os.environ.get("TZ"):  # the traveller may have set it: moving there keeps it
            zone = ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        pass
    traveller.move_to(datetime.now(zone), tick=False)


def _has_ended(traveller: Traveller) -> bool:
    import time_machine  # noqa: PLC0415 - as in freeze()

    journey = getattr(traveller, "traveller_obj", traveller)  # the fixture has its own inside
    return not any(one is journey for one in time_machine.traveller_stack)


def _culprit() -> str:
    frozen = type(time.time_ns) is not BuiltinFunctionType and "freezegun" in sys.modules
    return "freezegun" if frozen else "another time_machine.travel()"
