"""Decides which faults apply to an attempt, and when the attempt is made.

The drain asks an :class:`Ordering` before each attempt, and reports how each one ended. An event's
first attempt at an endpoint is a *choice*: faults decide what happens to it. A *repeat*, which a
fault causes, isn't a choice, and neither is a retry. Delayed attempts wait in the
:class:`.Backlog`.

At a *barrier* (``settle()``, an assertion, a clock move), all delayed attempts are made, and time
stands still. There are two exceptions: repeats that wait for a moment, to which ``settle()`` moves
the clock; and in explorations, repeats that wait for other attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from ..base.calling_line import Line
from ..transport.client.responses import Response
from .attempts import Attempt, Fault
from .attending import Attendant
from .backlog import Backlog
from .core import Core
from .endpoints import Endpoint
from .events import Event
from .faults import Concurrently
from .observing import Observer
from .outbox import Outbox


class TimedRepeat(NamedTuple):
    """A repeat that waits for a moment.

    Attributes:
        due: The moment, in nanoseconds since the epoch.
        event: The event.
        endpoint: Its endpoint.
        what: The fault that causes the repeat, as a test would write it.
        line: The line that set up the fault.
    """

    due: int
    event: Event
    endpoint: Endpoint
    what: str
    line: Line


class Ordering:
    """Decides which attempt is made next.

    Args:
        core: The fake's core.
        outbox: Has the queue and the faults.

    Attributes:
        awaits_retries: Whether ``settle()`` moves the clock to retries of attempts that the app has
            refused. It does so once a fault has changed when attempts are made, because the app may
            have refused them for that reason.
        observer: The extra that observes attempts, if any.
        backlog: Holds attempts that wait for others, or for a barrier.
        only_waits: Whether time moves to repeats that wait for a moment, without making them.
        choices: The numbers of the choices so far, by event and endpoint, in the order of first
            attempts.
    """

    def __init__(self, core: Core, outbox: Outbox) -> None:
        self._core = core
        self._outbox = outbox
        self.awaits_retries: bool = False
        self.observer: Observer | None = None
        self.only_waits: bool = False
        self.clear()

    def clear(self) -> None:
        """Forget all choices and delayed attempts, but keep the observer."""
        self.backlog: Backlog[Attempt] = Backlog()
        self._repeats: list[TimedRepeat] = []
        self._retries: list[TimedRepeat] = []  # settle() also moves the clock to these
        self.choices: dict[tuple[Event, Endpoint], int] = {}

    @property
    def held(self) -> list[Event]:
        """The events of delayed attempts."""
        delayed = [attempt.event for attempt in self.backlog.items]
        return delayed + [repeat.event for repeat in self._still_open(self._repeats)]

    # Before an attempt

    def decide(self, attempt: Attempt, *, in_batch: bool) -> Sequence[Attempt]:
        """Return the attempts to make now in place of the next one in the queue.

        There are none if a fault delays it. An attempt in one of the test's batches is a choice as
        well, but stays in its batch.
        """
        if self.observer is not None:
            self.observer.begins()
        key = (attempt.event, attempt.endpoint)
        if key not in self.choices and attempt._is_new:
            self.choices[key] = len(self.choices) + 1
            if not self._meet_faults(attempt, is_taken=in_batch):
                return []
        batch = [attempt, *self._begin_repeats(attempt, in_batch=in_batch)]
        if in_batch or not attempt.endpoint._target.overlaps:
            return batch
        peers = [peer for peer in self.backlog.take_peers() if peer.endpoint.connected]
        for peer in peers:  # their repeats are all delayed
            self._begin_repeats(peer, in_batch=False)
        return _batched([*peers, *batch])

    def _meet_faults(self, attempt: Attempt, *, is_taken: bool) -> bool:
        # Faults that combine with others change the attempt first. Then the first of the other
        # faults fires. Returns whether to make the attempt now.
        chosen: Fault | None = None
        for fault in self._outbox.faults.active:
            if not fault._strikes(attempt, is_taken=is_taken or chosen is not None):
                continue
            if fault._combines:
                fault._meet(attempt, self)
            else:
                chosen = fault
        if chosen is None:
            return True
        self.awaits_retries = True
        return chosen._meet(attempt, self)

    def _begin_repeats(self, attempt: Attempt, *, in_batch: bool) -> list[Attempt]:
        # Returns the repeats to make at the same time; the others are delayed.
        faults, attempt._flight.repeats = attempt._flight.repeats, ()
        self.awaits_retries = self.awaits_retries or bool(faults)
        repeats = [fault._repeat(attempt, self, in_batch=in_batch) for fault in faults]
        return [repeat for repeat in repeats if repeat is not None]

    def delay(self, attempt: Attempt, pause: int) -> None:
        """Schedule an attempt for ``pause`` nanoseconds later."""
        self._outbox.plan(attempt, pause)

    def repeat(self, repeat: Attempt, pause: int, fault: Fault) -> None:
        """Schedule a repeat for ``pause`` nanoseconds later; ``settle()`` moves the clock to it."""
        if not self.only_waits:
            self._outbox.plan(repeat, pause)
        due, what = self._core.now() + pause, fault.description
        self._repeats.append(TimedRepeat(due, repeat.event, repeat.endpoint, what, fault.line))

    def attendant_of(self, attempt: Attempt) -> Attendant | None:
        failure = attempt._flight.failure
        if failure is not None and failure._attend is not None:
            return failure._attend()
        attend = None if self.observer is None else self.observer.attend
        if attend is None or not (attempt._is_new and attempt.endpoint._target.in_process):
            return None
        return attend()

    # After an attempt

    def note_attempt(self, attempt: Attempt, response: Response) -> Response:
        """Count an attempt that has ended; return the response as the service gets it."""
        if self.observer is not None:
            choice = self.choices.get((attempt.event, attempt.endpoint), 0)
            self.observer.ended(attempt, choice, response)
        if (overtaken := self.backlog.note_attempt()) is not None:
            self._outbox.queue.appendleft(overtaken)
        failure = attempt._flight.failure
        return response if failure is None else failure._end(attempt, response)

    def await_retry(self, failed: Attempt, due: int) -> None:
        """Make ``settle()`` wait for the retry of an attempt that the app refused."""
        event = failed.event
        self._retries.append(TimedRepeat(due, event, failed.endpoint, "retry_after=", event.line))

    # Barriers

    def with_barriers(
        self,
        step: Callable[[], Iterator[None]],
        is_due: Callable[[], bool],
        end_wait: Callable[[TimedRepeat], Iterator[None]] | None = None,
    ) -> Iterator[None]:
        """Perform a step with a barrier before it and wherever time is about to move.

        Args:
            step: The step.
            is_due: Returns whether more work is due at the present moment.
            end_wait: Moves time to a repeat; None: repeats are not waited for.
        """

        def flushing(steps: Iterator[None]) -> Iterator[None]:
            for _ in steps:
                yield
                if not is_due():
                    yield from self.flush()

        yield from self.flush()
        yield from flushing(step())
        while end_wait is not None and (repeat := self._next_repeat()) is not None:
            began = self._core.now()
            yield from flushing(end_wait(repeat))
            if self.observer is not None:
                self.observer.waited(began, self._core.now())
            yield from self.flush()

    def flush(self) -> Iterator[None]:
        """Attempt queued events, then delayed ones; a step."""
        if self.observer is not None:
            self.observer.barrier()
        yield
        while released := self.backlog.release():
            self._outbox.queue.extend(released)
            yield
        if self.observer is not None:
            self.observer.flushed(self._core.now())

    # Repeats that wait for a moment

    def _next_repeat(self) -> TimedRepeat | None:
        self._repeats = self._still_open(self._repeats)
        self._retries = self._still_open(self._retries)
        return min([*self._repeats, *self._retries], key=attrgetter("due"), default=None)

    def _still_open(self, repeats: Sequence[TimedRepeat]) -> list[TimedRepeat]:
        now = self._core.now()
        return [
            repeat
            for repeat in repeats
            if repeat.due > now and repeat.endpoint.connected and not repeat.endpoint.disabled
        ]


def _batched(batch: list[Attempt]) -> list[Attempt]:
    # All attempts in a batch get the mark of the fault that asked for the batch.
    marks = [one._effect._mark for one in batch if isinstance(one._effect, Concurrently)]
    for attempt in batch:
        attempt._flight.batch = marks[0] if marks else None
    return batch
