"""Due work, run as time goes on: one piece after another, each at its own moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final

from ..base.calling_line import Line
from ..base.errors import ClockError
from ..domain.instants import nanoseconds, stamp
from ..webhooks.core import Core
from .executor import Executor
from .process_time import ProcessTime
from .records import ClockRecord

#: Latest supported time; leaves room for expiry and drop before year 9999.
LAST: Final = nanoseconds(datetime(9900, 1, 1, tzinfo=UTC))

#: How much work one move of time may run beyond what was scheduled when it began.
_MAX_DUE: Final = 100_000


class DueRunner:
    """Runs due work when process time reaches it, however time was moved.

    The lock is held while a piece of work runs, and while the schedule is read.
    """

    def __init__(self, core: Core, time: ProcessTime, executor: Executor) -> None:
        self._core = core
        self._time = time
        self._executor = executor
        self._ran = 0
        self._move: ClockRecord | None = None  # the last one

    def reset(self) -> None:
        """Forget the last move of time."""
        self._move = None

    def next_due(self) -> int | None:
        """Return the moment of the next due work in nanoseconds; None if there is none."""
        with self._core.lock:  # reading removes cancelled work
            return self._core.schedule.next_due()

    def is_due(self) -> bool:
        """Return whether work is due now."""
        with self._core.lock:
            return self._core.schedule.is_due(self._time.read())

    def catch_up(self) -> None:
        """Run due work, and leave the events that it causes in the queue.

        For callers that must not attempt: a request to the fake, code that the fake runs.
        """
        more = True
        while more:
            try:
                more = self._run_next()
            except Exception as error:  # of a script: re-raised at the test's next call
                self._core.errors.append(error)

    # Steps: state changes up to each yield, where attempts are made

    def run_due(self) -> Iterator[None]:
        """Attempt queued webhooks; then run due work, one piece after another."""
        yield
        yield from self._run_each(self._limit())

    def move_to(self, target_of: Callable[[int], int], what: str, line: Line) -> Iterator[None]:
        """Settle; then move time from one due moment to the next, and to the target."""
        yield  # queued webhooks belong to the present
        limit = self._limit()
        yield from self._run_each(limit)
        now = self._time.read()
        target = target_of(now)
        if target > LAST:
            raise ClockError(f"can't move time past {stamp(LAST)}: the calendar ends soon after")
        if target < now:
            raise ClockError(
                f"time only goes forward: it is {stamp(now)}, and {stamp(target)} has passed"
            )
        self._move = self._core.history.add(ClockRecord(what, line, now, target))
        yield from self._run_each(limit, target)
        with self._core.lock:  # two threads that move time at once would move it twice as far
            self._time.forward(target)

    def next_after(self, now: int) -> int:
        """Return the moment of the next due work, and refuse if there is none."""
        due = self.next_due()
        if due is None:
            raise ClockError(f"nothing is due, so time stays at {stamp(now)}: use advance()")
        return due

    def run_until(
        self, reached: Callable[[], bool], length: int, what: str, line: Line
    ) -> Iterator[None]:
        """Settle; then move time from one due moment to the next, until ``reached`` is true.

        It is called first, after each piece of work, and at the end of the length (nanoseconds).
        """
        yield
        yield from self._run_each(self._limit())
        end = self._time.read() + length
        while not reached():
            now = self._time.read()
            if now >= end:
                raise ClockError(
                    f"{what}: the predicate was still false at the limit, {stamp(now)}"
                )
            due = self.next_due()
            target = end if due is None else min(due, end)
            yield from self.move_to(partial(max, target), what, line)

    def _limit(self) -> int:
        return self._ran + len(self._core.schedule.work) + _MAX_DUE

    def _run_each(self, limit: int, target: int | None = None) -> Iterator[None]:
        while self._run_next(target):
            yield
            # A receiver that calls back runs due work, too, and it is counted.
            if self._ran > limit:
                raise ClockError(
                    f"stopped at {stamp(self._time.read())} after {_MAX_DUE:,} unplanned events: "
                    f"each one seems to schedule the next. Does the receiver send a message on "
                    f"every retry?"
                )

    def _run_next(self, target: int | None = None) -> bool:
        """Run the next piece of due work, and return False if there is none.

        With a ``target``, time is on its way there: work that is due by then is run, too.
        """
        with self._core.lock:
            if target is None:
                now = self._time.read()
            else:
                due_at = self._core.schedule.next_due()
                if due_at is None or due_at > target:
                    return False
                self._time.forward(due_at)  # before it is removed: the move may be refused
                now = target
            due = self._core.schedule.pop_due(now)
            if due is None:
                return False
            self._ran += 1
            self._executor.execute_due(due, self._move)
            return True
