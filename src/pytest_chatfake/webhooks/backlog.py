"""Delayed attempts: how many others each waits for, and what a barrier releases."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from operator import attrgetter, itemgetter
from typing import NamedTuple

from .dispatch import Dispatch
from .faults import Fault


class _Delayed(NamedTuple):
    """A delayed attempt.

    Attributes:
        until: How many attempts must have been made before it.
        number: How many were delayed before it.
        item: The attempt.
        fault: The fault that delays it.
    """

    until: int
    number: int
    item: Dispatch
    fault: Fault


class _Queue:
    """Delayed attempts: of those whose turn has come, the one that was delayed first is next."""

    def __init__(self) -> None:
        self._waiting: list[_Delayed] = []  # a heap
        self._ready: list[tuple[int, _Delayed]] = []  # another one, by their numbers

    def add(self, attempt: _Delayed) -> None:
        """Add one."""
        heappush(self._waiting, attempt)

    def next(self, made: int) -> _Delayed | None:
        """Return the next one after so many attempts were made; None: none has its turn."""
        while self._waiting and self._waiting[0].until <= made:
            attempt = heappop(self._waiting)
            heappush(self._ready, (attempt.number, attempt))
        return self._ready[0][1] if self._ready else None

    def pop(self) -> Dispatch:
        """Remove and return the next one."""
        return heappop(self._ready)[1].item

    @property
    def all(self) -> list[_Delayed]:
        """All of them, in the order in which they were delayed."""
        ready = (attempt for _, attempt in self._ready)
        return sorted([*self._waiting, *ready], key=attrgetter("number"))


class Backlog:
    """A queue of delayed attempts.

    An attempt may be delayed:

    - *reordered*, until so many others were made;
    - *duplicated*: its repeat, until so many others were made;
    - by *concurrently*, until the next attempt with which it is made at the same time;
    - *failed* (a lost response, a refusal, a response that is not 2xx): its repeat, until the next
      barrier.
    """

    def __init__(self) -> None:
        self._made = 0
        self._count = 0
        self._delayed = _Queue()
        self._past_barriers = _Queue()  # those that wait past barriers, too
        self._peers = _Queue()
        self._failed: list[Dispatch] = []

    @property
    def items(self) -> list[Dispatch]:
        """All delayed attempts."""
        queues = (self._delayed, self._past_barriers, self._peers)
        delayed = (attempt.item for queue in queues for attempt in queue.all)
        return [*delayed, *self._failed]

    def take(
        self,
        kind: str,
        steps: int,
        item: Dispatch,
        fault: Fault,
        past_barriers: bool = False,
    ) -> bool:
        """Delay an attempt, or its repeat, if a kind of fault asks for that.

        Returns:
            Whether the attempt itself is made now.
        """
        until = self._made + steps + (kind == "duplicate")  # a repeat waits for its attempt, too
        self._count += 1
        delayed = _Delayed(until, self._count, item, fault)
        if kind in {"duplicate", "reorder"}:
            (self._past_barriers if past_barriers else self._delayed).add(delayed)
        elif kind == "concurrently":
            self._peers.add(delayed)
        return kind not in {"reorder", "concurrently"}

    def take_peers(self) -> list[Dispatch]:
        """Remove and return the attempts that are made at the same time as the next one."""
        peers: list[Dispatch] = []
        while self._peers.next(self._made + 1) is not None:
            peers.append(self._peers.pop())
        return peers

    def note_attempt(self) -> Dispatch | None:
        """Count an attempt that was made; remove and return a delayed one that comes next."""
        self._made += 1
        queues = (self._delayed, self._past_barriers)
        ready = [
            (attempt.number, queue)
            for queue in queues
            if (attempt := queue.next(self._made)) is not None
        ]
        return min(ready, key=itemgetter(0))[1].pop() if ready else None

    def keep_failed(self, repeat: Dispatch) -> None:
        """Keep the repeat of a failed attempt until the next barrier."""
        self._failed.append(repeat)

    def forget_failed(self, is_over: Callable[[Dispatch], bool]) -> None:
        """Forget the repeats of failed attempts that will not be made."""
        self._failed = [repeat for repeat in self._failed if not is_over(repeat)]

    def release(self) -> list[Dispatch]:
        """Remove and return the attempts that a barrier releases.

        The repeats of failed attempts come last: once no others are left.
        """
        released = [*self._delayed.all, *self._peers.all]
        for attempt in released:
            attempt.fault._is_short = True
        self._delayed, self._peers = _Queue(), _Queue()
        if released:
            return [attempt.item for attempt in released]
        failed, self._failed = self._failed, []
        return failed

    def finish(self) -> None:
        """Release all repeats at the next barrier: no more attempts will be made."""
        for attempt in self._past_barriers.all:
            self._delayed.add(attempt)
        self._past_barriers = _Queue()
