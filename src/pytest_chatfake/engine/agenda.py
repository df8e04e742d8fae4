"""What falls due as time goes on: one thing after another, each at its own moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final

from ..base.errors import ClockError
from ..domain.instants import nanoseconds, stamp
from ..domain.schedule import Due, Schedule
from .process_time import ProcessTime

#: How far time can be moved: what is sent then still has an expiry and a drop within year 9999.
LAST: Final = nanoseconds(datetime(9900, 1, 1, tzinfo=UTC))

#: What one move of time may find due beyond what was planned when it began.
_MAX_DUE: Final = 100_000


class Agenda:
    """Runs what is planned when process time gets there, whoever moves it.

    Args:
        schedule: What is planned.
        time: The time of the process.
        lock: Held while something runs; who holds it may look at the schedule.
        run: Does what is due.
        errors: Where an error is kept that can't be raised where it is seen.
    """

    def __init__(
        self,
        schedule: Schedule,
        time: ProcessTime,
        lock: AbstractContextManager[object],
        run: Callable[[Due], None],
        errors: list[BaseException],
    ) -> None:
        self._schedule = schedule
        self._time = time
        self._lock = lock
        self._run = run
        self._errors = errors
        self._ran = 0

    def next_due(self) -> int | None:
        """Return when something is due next, in nanoseconds; None if nothing is planned."""
        with self._lock:  # to look takes out what was cancelled
            return self._schedule.next_due()

    def is_due(self) -> bool:
        """Return whether something is due now."""
        with self._lock:
            return self._schedule.is_due(self._time.read())

    def catch_up(self) -> None:
        """Run all that is due, without attempts: these are only queued.

        For whoever must not attempt: a request to the fake, a receiver that calls back.
        """
        more = True
        while more:
            try:
                more = self._run_due(self._time.read())
            except Exception as error:  # a step of a script: the test is told at its next use
                self._errors.append(error)

    # Steps: state changes up to each yield, and attempts are made at it

    def settling(self) -> Iterator[None]:
        """Attempt what is queued; then run what is due now, one thing after another."""
        yield
        limit = self._limit()
        while self._run_due(self._time.read()):
            yield
            self._refuse_endless(limit)

    def moving(self, by: int | None, to: int | None) -> Iterator[None]:
        """Settle; then move time from one due moment to the next, and to its end.

        Args:
            by: A length in nanoseconds, or
            to: a moment.

        Raises:
            ClockError: It would go back, or past the calendar; or what falls due never ends.
        """
        yield  # what is queued is of now, and not of later
        limit = self._limit()
        while self._run_due(now := self._time.read()):
            yield
            self._refuse_endless(limit)
        target = now + by if by is not None else to
        assert target is not None
        if target > LAST:
            raise ClockError(
                f"time can't be moved past {stamp(LAST)}, because the calendar ends soon after"
            )
        if target < now:
            raise ClockError(
                f"time only goes forward: it is {stamp(now)}, and {stamp(target)} has passed"
            )
        while self._run_due(target, on_the_way=True):
            yield
            self._refuse_endless(limit)
        self._time.forward(target)

    def _run_due(self, now: int, *, on_the_way: bool = False) -> bool:
        """Run the next thing that is due at ``now``, and return False if there is none.

        Args:
            now: In nanoseconds.
            on_the_way: ``now`` is where time is moved to; move it to where the thing is due.
        """
        with self._lock:
            if on_the_way:
                due_at = self._schedule.next_due()
                if due_at is None or due_at > now:
                    return False
                self._time.forward(due_at)  # before it is taken out: it may be refused
            due = self._schedule.pop_due(now)
            if due is None:
                return False
            self._ran += 1
            self._run(due)
            return True

    def _limit(self) -> int:
        return self._ran + len(self._schedule) + _MAX_DUE

    def _refuse_endless(self, limit: int) -> None:
        if self._ran > limit:  # whoever ran it: a receiver that calls back runs what is due, too
            raise ClockError(
                f"time stands at {stamp(self._time.read())}: {_MAX_DUE} things fell due beyond "
                f"those that were planned, so each seems to plan another. Does the receiver send "
                f"a message whenever an attempt is made again?"
            )
