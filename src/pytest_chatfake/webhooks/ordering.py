"""Faults of attempts: which of them apply to an attempt, and when it is made.

The drain asks an :class:`Ordering` before each attempt, and reports each that has ended. The first
attempt at an event at an endpoint is a *choice*: the faults decide then what happens to it. A
*repeat* is made because of a fault, and is no choice; nor is a retry. The :class:`.Backlog` keeps
delayed attempts.

A *barrier* is where a test looks: ``settle()``, an assertion, a move of time. All delayed attempts
are made there without moving time, with two exceptions: repeats with ``past_barriers=True``, and
repeats that wait for a moment. ``settle()`` moves the clock to these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Final, NamedTuple

from ..base.calling_line import Line
from ..transport.client.responses import Response
from .attempts import Attempt
from .attending import Attendant
from .backlog import Backlog
from .core import Core
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import effect_of
from .faults import FaultHit
from .observing import Observer
from .outbox import Outbox

#: How attempts end that are refused or dropped: they are never made.
REFUSED: Final = Response(
    None, b"", ConnectionRefusedError("refused before it reached the app: refuse()")
)
DROPPED: Final = Response(None)

#: By kinds of faults: how attempts end that are not made.
_NOT_MADE: Final[Mapping[str, Response]] = {"drop": DROPPED, "refuse": REFUSED}

_LOST: Final = "the app's response was lost: lose_response()"


class TimedRepeat(NamedTuple):
    """A repeat that waits for a moment.

    Attributes:
        due: The moment in nanoseconds.
        event: The event.
        endpoint: Where it goes.
        what: The fault that repeats it, as a test would write it.
        line: The line that set the fault up.
    """

    due: int
    event: Event
    endpoint: Endpoint
    what: str
    line: Line


class Ordering:
    """Decides which attempt comes next.

    Args:
        core: The fake's core.
        outbox: Has the queue and the faults.

    Attributes:
        awaits_retries: Whether ``settle()`` moves the clock to the retries of what the app has
            refused: since a fault has changed when attempts are made, it may have had reason to.
        observer: Sees what is attempted; None: nobody does.
        only_waits: Whether time moves to repeats that wait for a moment, and these are not made.
        choices: The numbers of the choices so far: one for each event and endpoint, in the order
            of first attempts.
    """

    def __init__(self, core: Core, outbox: Outbox) -> None:
        self._core = core
        self._outbox = outbox
        self.awaits_retries: bool = False
        self.observer: Observer | None = None
        self.only_waits: bool = False
        self.clear()

    def clear(self) -> None:
        """Forget all choices and delayed attempts; an observer goes on."""
        self._backlog: Backlog = Backlog()
        self._repeats: list[TimedRepeat] = []
        self._retries: list[TimedRepeat] = []  # that are awaited, too
        self.choices: dict[tuple[Event, Endpoint], int] = {}

    @property
    def held(self) -> list[Event]:
        """The events of delayed attempts."""
        delayed = [attempt.event for attempt in self._backlog.items]
        return delayed + [repeat.event for repeat in self._still_open(self._repeats)]

    # Before an attempt

    def decide(self, attempt: Attempt, *, in_batch: bool) -> Sequence[Attempt]:
        """Return the attempts to make now in place of the queue's next one; none: it is delayed.

        An attempt that a test has put into a batch is a choice, too, and stays there.
        """
        if self.observer is not None:
            self.observer.begins()
        key = (attempt.event, attempt.endpoint)
        if key not in self.choices and attempt._is_new:
            self.choices[key] = len(self.choices) + 1
            hit = self._choose(attempt, taken=in_batch)
            if hit is not None and not self._deviate(hit, attempt):
                return []
        batch = [attempt, *self._begin_repeats(attempt, in_batch=in_batch)]
        if in_batch:
            return batch
        peers = [peer for peer in self._backlog.take_peers() if peer.endpoint.connected]
        return _batched([*peers, *batch])

    def _choose(self, attempt: Attempt, *, taken: bool) -> FaultHit | None:
        """Let each fault count a choice; those that combine with others change the attempt.

        Returns:
            The one that decides whether and when the attempt is made; None: none does.
        """
        chosen: FaultHit | None = None
        for fault in self._outbox.faults.active:
            taken = taken or chosen is not None
            hit = fault._hit(attempt.event, attempt.endpoint, taken=taken)
            if hit is None:
                continue
            if hit.kind == "duplicate":
                attempt._repeats += (hit,)
            elif effect_of(hit.kind).combines:
                attempt._shape(hit)
            else:
                chosen = hit
        return chosen

    def _deviate(self, hit: FaultHit, attempt: Attempt) -> bool:
        """Apply a fault to a choice; return whether the attempt is made now."""
        self.awaits_retries = True
        if effect_of(hit.kind).fails:
            attempt._failure, attempt._outcome = hit, _NOT_MADE.get(hit.kind)
            return True
        if hit.kind == "concurrently" and not hit.steps:
            attempt._repeats += (hit,)  # made at the same time
            return True
        attempt._shape(hit)
        if hit.kind == "delay":
            self._outbox.plan(attempt, hit.pause)
            return False
        return self._backlog.take(hit.kind, hit.steps, attempt, hit.fault)

    def _begin_repeats(self, attempt: Attempt, *, in_batch: bool) -> list[Attempt]:
        """Delay the repeats of an attempt; return those that are made at the same time."""
        hits, attempt._repeats = attempt._repeats, ()
        self.awaits_retries = self.awaits_retries or bool(hits)
        beside: list[Attempt] = []
        for hit in hits:
            repeat = replace(attempt)
            repeat._shape(hit)
            if attempt._outcome is not DROPPED:  # a repeat of a dropped attempt is dropped, too
                repeat._failure = repeat._outcome = None
            if hit.pause:
                if not self.only_waits:
                    self._outbox.plan(repeat, hit.pause)
                due, fault = self._core.now() + hit.pause, hit.fault
                self._repeats.append(
                    TimedRepeat(due, repeat.event, repeat.endpoint, fault.description, fault.line)
                )
            elif hit.kind == "concurrently" or (in_batch and not hit.steps):
                beside.append(repeat)
            else:
                self._backlog.take(hit.kind, hit.steps, repeat, hit.fault, hit.past_barriers)
        return beside

    def attendant_of(self, attempt: Attempt) -> Attendant | None:
        """Return who attends an attempt; None: nobody does."""
        failure = attempt._failure
        if failure is not None and failure.attend is not None:
            return failure.attend()
        attend = None if self.observer is None else self.observer.attend
        if attend is None or not (attempt._is_new and attempt.endpoint._target.in_process):
            return None
        return attend()

    # After an attempt

    def note_attempt(self, attempt: Attempt, response: Response) -> Response:
        """Count an attempt that has ended; return the response that the service gets."""
        failure, attendant = attempt._failure, attempt._attendant
        if failure and failure.attend and not (attendant and attendant.deed):
            failure.fault.fired -= 1  # the app never came to that point
            failure = attempt._failure = None
        if self.observer is not None:
            choice = self.choices.get((attempt.event, attempt.endpoint), 0)
            self.observer.ended(attempt, choice, response)
        if (overtaken := self._backlog.note_attempt()) is not None:
            self._outbox.queue.appendleft(overtaken)
        if failure is None:
            return response
        attempt._shape(failure)
        is_lost = failure.kind == "lose_response" and response.error is None
        return Response(None, b"", TimeoutError(_LOST)) if is_lost else response

    def keep_failed(self, repeat: Attempt) -> None:
        """Keep the repeat of a failed attempt until the next barrier."""
        self._backlog.keep_failed(repeat)

    def await_retry(self, failed: Attempt, due: int) -> None:
        """Let ``settle()`` wait for the retry of what the app has refused."""
        event = failed.event
        self._retries.append(TimedRepeat(due, event, failed.endpoint, "retry_after=", event.line))

    def forget_unwanted(self) -> None:
        """Forget the repeats of failed attempts at an endpoint that was disabled now."""
        self._backlog.forget_failed(lambda repeat: not repeat._is_wanted)

    # Barriers

    def with_barriers(
        self,
        step: Callable[[], Iterator[None]],
        is_due: Callable[[], bool],
        end_wait: Callable[[TimedRepeat], Iterator[None]] | None = None,
    ) -> Iterator[None]:
        """Perform a step with barriers: before it, and before time goes on."""

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
        """A step: attempt queued events, then delayed ones."""
        if self.observer is not None:
            self.observer.barrier()
        yield
        while released := self._backlog.release():
            self._outbox.queue.extend(released)
            yield
        if self.observer is not None:
            self.observer.flushed(self._core.now())

    def finish(self) -> None:
        """Make all repeats at the next barrier, after the test's last attempt."""
        self._backlog.finish()

    # Repeats that wait for a moment

    def _next_repeat(self) -> TimedRepeat | None:
        """Return the repeat that comes next; None if there is none."""
        self._repeats = self._still_open(self._repeats)
        self._retries = self._still_open(self._retries)
        return min([*self._repeats, *self._retries], key=attrgetter("due"), default=None)

    def _still_open(self, repeats: Sequence[TimedRepeat]) -> list[TimedRepeat]:
        """Return those that are still to come, at endpoints that are connected."""
        now = self._core.now()
        return [
            repeat
            for repeat in repeats
            if repeat.due > now and repeat.endpoint.connected and not repeat.endpoint.disabled
        ]


def _batched(batch: list[Attempt]) -> list[Attempt]:
    """Give all attempts of a batch the mark of the fault that has asked for it."""
    mark = next((each._marks[-1] for each in batch if each.fault == "concurrently"), None)
    if mark is not None and len(batch) > 1:
        for attempt in batch:
            if attempt.fault != "concurrently":
                attempt._marks += (mark,)
    return batch
