"""Observes a world while it runs: its attempts, and what the app did in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic_ns
from typing import NamedTuple, TypeAlias

from ..fake.details import is_first_attempt, name_of, post_of
from ..fake.inside import Inside
from ..fake.snapshots import Snapshot
from ..http_api.account_api import ApiRequest
from ..report.hints import logged_error, shown_error
from ..transport.client.responses import Response
from ..webhooks.attempts import Attempt
from ..webhooks.attending import Attend
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from .baseline import Comparison
from .late_threads import (
    Work,
    begun_so_far,
    goes_its_own_way,
    note_late,
    running,
    running_late,
)
from .memories import MemoryWatch
from .point_watch import PointWatch


class Barrier(NamedTuple):
    """A barrier in the log, or several without attempts in between; ``moments`` in nanoseconds."""

    moments: tuple[int, ...]


class Ended(NamedTuple):
    """An attempt in the log.

    Attributes:
        attempt: The attempt.
        choice: The number of the first attempt that it is, repeats or retries; 0: none that can
            deviate.
        response: The app's response, before faults.
    """

    attempt: Attempt
    choice: int
    response: Response


#: The attempts that have ended, and the barriers between them.
Log: TypeAlias = list[Ended | Barrier]


class WorldObserver:
    """The :class:`.Observer` of a world's fake, which keeps a log of its attempts and barriers.

    Args:
        inside: The fake.
        comparison: Compares the world's snapshots.
        note: Called with the name of whatever takes time from now on.
        attend: As in :class:`.Observer`.
        memories: Watches the memories that the app uses; None: nothing does.
        by_hand: Whether the world does what a printed test does.

    Attributes:
        inside, comparison, attend, by_hand: As given.
        log: The attempts that have ended, and the barriers between them.
        settled: Whether there was a barrier.
        choices: The numbers of first attempts, by event and endpoint, in order.
        waits: The start and end of each clock move by ``settle()`` itself, in nanoseconds.
        callers: The attempt during which each API call was made. Its response came or was lost
            before the attempt ended. If the app has begun a thread and doesn't wait for it, whose
            call that is would be up to chance, so no call counts.
        times: When each attempt began, and when it ended, in nanoseconds of real time.
        late_threads: The threads and jobs that the app started in an attempt, and that outlived
            it.
        earlier_threads: Those of earlier worlds that had not ended when this one began.
    """

    def __init__(
        self,
        inside: Inside,
        comparison: Comparison,
        note: Callable[[str], None],
        attend: Attend | None,
        memories: MemoryWatch | None,
        *,
        by_hand: bool,
    ) -> None:
        self.inside = inside
        self._memories = memories
        self.comparison = comparison
        self._note = note
        self.attend = attend
        self.by_hand = by_hand
        self.log: Log = []
        self.settled: bool = False
        self.choices: dict[tuple[Event, Endpoint], int] = {}
        self.waits: list[tuple[int, int]] = []
        self.callers: dict[ApiRequest, Attempt] = {}
        self.times: dict[Attempt, tuple[int, int | None]] = {}
        self.late_threads: list[Work] = []
        self.earlier_threads: list[Work] = running_late()
        self._threads_before: dict[Attempt, tuple[list[Work], int]] = {}

    @property
    def endings(self) -> list[Ended]:
        """The attempts that have ended."""
        return [entry for entry in self.log if isinstance(entry, Ended)]

    @property
    def attempts(self) -> list[Attempt]:
        return [entry.attempt for entry in self.endings]

    @property
    def lengths(self) -> list[int]:
        """How many nanoseconds of real time each attempt took."""
        return [ended - began for began, ended in self.times.values() if ended is not None]

    @property
    def watches(self) -> list[PointWatch]:
        """What watched the attempts at apps in this process, or crashed them."""
        return [*filter(None, map(watch_of, self.attempts))]

    @property
    def expects_events(self) -> bool:
        """Whether it is the first world of its baseline: others may lose all events."""
        return self.comparison.learning

    @property
    def remark(self) -> str:
        """What to add to the refusal of an event, if it did no harm."""
        return self.comparison.remark

    def accepted_errors(self) -> dict[str, str]:
        """Return the exceptions that the app logged, each with an event that it accepted anyway.

        Without an event, it was raised in the background. What a deviation injected is left out.
        """
        found: dict[str, str] = {}
        has_injected = False
        for entry in self.endings:
            error, watch = logged_error(entry.attempt), watch_of(entry.attempt)
            if watch and watch.effect:
                has_injected = True
            elif error and entry.response.is_success:
                found.setdefault(error, name_of(entry.attempt.event))
        if not has_injected:
            for error in map(shown_error, self.inside.background_errors):
                found.setdefault(error, "")
        return found

    def begins(self, attempt: Attempt) -> None:
        """Number a first attempt; note that time is spent on attempts."""
        self._note("in attempts")
        self.times[attempt] = monotonic_ns(), None
        self._threads_before[attempt] = running(), begun_so_far()
        if is_first_attempt(attempt):
            self.choices.setdefault((attempt.event, attempt.endpoint), len(self.choices) + 1)
        if self._memories is not None:
            self._memories.begins(attempt)

    def ended(self, attempt: Attempt, response: Response) -> None:
        self._note("between and after attempts")
        if self._memories is not None:
            self._memories.ended(attempt)
        calls = self._calls_since(attempt)
        if (before := self._threads_before.pop(attempt, None)) is not None:
            running_before, begun_before = before
            self.late_threads += note_late(running_before)
            if goes_its_own_way(begun_before):
                calls = iter(())
        for call in calls:
            if call.status is not None or call.marks:
                self.callers.setdefault(call, attempt)
        now = monotonic_ns()
        began, _ = self.times.get(attempt, (now, None))  # a repeat begins with its twin
        self.times[attempt] = began, now
        choice = self.choices.get((attempt.event, attempt.endpoint), 0)
        self.log.append(Ended(attempt, choice, response))

    def _calls_since(self, attempt: Attempt) -> Iterator[ApiRequest]:
        # Not all attempts have begun by begins(): those at disabled endpoints haven't, nor have
        # duplicates that are made at the same time.
        for record in reversed(self.inside.records):
            if record is attempt:
                return
            if isinstance(record, ApiRequest):
                yield record

    def barrier(self) -> None:
        self.settled = True

    def flushed(self, now: int) -> None:
        """Add a barrier to the log, after an attempt."""
        if not self.log:
            return
        last = self.log[-1]
        if not isinstance(last, Barrier):
            self.log.append(Barrier((now,)))
        elif last.moments[-1] != now:
            self.log[-1] = Barrier((*last.moments, now))

    def waited(self, began: int, now: int) -> None:
        self.waits.append((began, now))

    async def compare(self, snapshot: Snapshot) -> None:
        """Compare a snapshot with that of the world as written."""
        await self.comparison.compare(snapshot)


def watch_of(attempt: Attempt) -> PointWatch | None:
    """Return what watched an attempt or crashed its app; None: nothing did."""
    attendant = post_of(attempt).attendant
    return attendant if isinstance(attendant, PointWatch) else None


def observer_of(inside: Inside) -> WorldObserver:
    """Return the observer of a world's fake."""
    observer = inside.observer
    assert isinstance(observer, WorldObserver)
    return observer
