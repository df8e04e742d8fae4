"""Runs due work as time moves: one piece after another, each at its own moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final

from ..base.calling_line import Line
from ..base.errors import ClockError
from ..domain.instants import nanoseconds, stamp
from ..domain.schedule import DueKind
from ..webhooks.core import Core
from ..webhooks.fake_state import FakeState
from .executor import Executor
from .process_time import ProcessTime
from .records import ClockRecord

#: The clock stops here, so that expiries and drops still fall before the year 9999.
LAST: Final = nanoseconds(datetime(9900, 1, 1, tzinfo=UTC))

#: The maximum number of pieces of work that one clock move runs beyond those that were scheduled
#: when it began. More look like an endless loop.
_MAX_DUE = 100_000


class DueRunner:
    """Runs due work when process time reaches it, no matter what moved time.

    The lock is held while the schedule is read, and while a piece of work runs.
    """

    def __init__(self, core: Core[FakeState], time: ProcessTime, executor: Executor) -> None:
        self._core = core
        self._time = time
        self._executor = executor
        self._ran = 0

    def next_due(self) -> int | None:
        """Return when the next work is due, in nanoseconds; None if nothing is pending."""
        with self._core.lock:  # because reading removes cancelled work
            return self._core.state.schedule.next_due()

    def is_due(self) -> bool:
        with self._core.lock:
            return self._core.state.schedule.is_due(self._time.read())

    def catch_up(self) -> None:
        """Run due work, and leave its events in the queue.

        For callers that must not attempt webhooks: a request to the fake, or code inside an
        attempt.
        """
        while True:
            try:
                if self._run_next() is None:
                    return
            except Exception as error:  # a script's error, which the test's next call raises
                self._core.state.errors.append(error)

    # Steps: they change state up to each yield, where attempts are made

    def run_due(self) -> Iterator[None]:
        """Run due work, one piece after another, and attempt queued webhooks.

        If another library has moved time, this work belongs to the time before, so it comes first.
        """
        limit = self._limit()
        while True:
            yield from self._run_each(limit)
            yield
            if not self.is_due():  # a receiver may have scheduled something for now
                return

    def move_to(self, target_of: Callable[[int], int], what: str, line: Line) -> Iterator[None]:
        """Settle; then move time to the target, stopping wherever work is due."""
        yield from self.run_due()
        now = self._time.read()
        target = target_of(now)
        if target > LAST:
            raise ClockError(f"can't move time past {stamp(LAST)}: the calendar ends soon after")
        if target < now:
            raise ClockError(
                f"time only goes forward: it is {stamp(now)}, and {stamp(target)} has passed"
            )
        with self._core.lock:  # so that it stands in the middle of no verb's records
            self._executor.move = self._core.state.history.add(ClockRecord(what, line, now, target))
        yield from self._run_each(self._limit(), target)
        with self._core.lock:  # or two threads at once would move time twice as far
            self._time.forward(target)

    def next_after(self, now: int) -> int:
        """Return when the next work is due, in nanoseconds; raise a ClockError if none is."""
        due = self.next_due()
        if due is None:
            raise ClockError(f"nothing is due, so time stays at {stamp(now)}: use advance()")
        return due

    def run_until(
        self, reached: Callable[[], bool], length: int, what: str, line: Line
    ) -> Iterator[None]:
        """Settle; then move time from one due moment to the next until ``reached()`` is true.

        ``reached()`` is called before the first move, after each piece of work, and after
        ``length`` nanoseconds.

        Raises:
            ClockError: ``reached()`` was still false at the end.
        """
        yield from self.run_due()
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
        return self._ran + len(self._core.state.schedule.work) + _MAX_DUE

    def _run_each(self, limit: int, target: int | None = None) -> Iterator[None]:
        while (kind := self._run_next(target)) is not None:
            if kind != "drop":  # which has no event (§3 rule 6)
                yield
            # Work that a receiver runs when it calls back counts as well.
            if self._ran > limit:
                raise ClockError(
                    f"stopped at {stamp(self._time.read())} after {_MAX_DUE:,} unplanned events: "
                    f"each one seems to schedule the next. Does the receiver send a message on "
                    f"every retry?"
                )

    def _run_next(self, target: int | None = None) -> DueKind | None:
        # Returns None if nothing is due: now or, during a clock move, up to the target.
        with self._core.lock:
            schedule = self._core.state.schedule
            due = schedule.next_due()
            if due is None or due > (self._time.read() if target is None else target):
                return None
            if target is not None:
                self._time.forward(due)  # before the work is removed, because it may be refused
            self._ran += 1
            due, kind, subject = schedule.pop()
            self._executor.due_handlers[kind](due, subject)
            return kind
