"""Delayed attempts: how many others each waits for, and what a barrier releases."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import NamedTuple

from .attempts import Attempt
from .faults import Fault


class _Delayed(NamedTuple):
    """A delayed attempt; the least is the next one.

    Attributes:
        until: How many attempts must have been made before it.
        number: How many were delayed before it.
        item: The attempt.
        fault: The fault that delays it.
    """

    until: int
    number: int
    item: Attempt
    fault: Fault


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
        # Heaps, so that those that wait on are not looked at: the first is the next one.
        self._delayed: list[_Delayed] = []
        self._past_barriers: list[_Delayed] = []  # those that wait past barriers, too
        self._peers: list[_Delayed] = []
        self._failed: list[Attempt] = []

    @property
    def items(self) -> list[Attempt]:
        """All delayed attempts."""
        delayed = [*self._delayed, *self._past_barriers, *self._peers]
        delayed.sort(key=attrgetter("number"))
        return [*(attempt.item for attempt in delayed), *self._failed]

    def take(
        self,
        kind: str,
        steps: int,
        item: Attempt,
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
            heappush(self._past_barriers if past_barriers else self._delayed, delayed)
        elif kind == "concurrently":
            heappush(self._peers, delayed)
        return kind not in {"reorder", "concurrently"}

    def take_peers(self) -> list[Attempt]:
        """Remove and return the attempts that are made at the same time as the next one."""
        peers: list[Attempt] = []
        while self._peers and self._peers[0].until <= self._made + 1:
            peers.append(heappop(self._peers).item)
        return peers

    def note_attempt(self) -> Attempt | None:
        """Count an attempt that was made; remove and return a delayed one that comes next."""
        self._made += 1
        queues = (self._delayed, self._past_barriers)
        ready = [queue for queue in queues if queue and queue[0].until <= self._made]
        return heappop(min(ready)).item if ready else None

    def keep_failed(self, repeat: Attempt) -> None:
        """Keep the repeat of a failed attempt until the next barrier."""
        self._failed.append(repeat)

    def forget_failed(self, is_over: Callable[[Attempt], bool]) -> None:
        """Forget the repeats of failed attempts that will not be made."""
        self._failed = [repeat for repeat in self._failed if not is_over(repeat)]

    def release(self) -> list[Attempt]:
        """Remove and return the attempts that a barrier releases.

        The repeats of failed attempts come last: once no others are left.
        """
        by_number = attrgetter("number")
        released = sorted(self._delayed, key=by_number) + sorted(self._peers, key=by_number)
        for attempt in released:
            attempt.fault._is_short = True
        self._delayed, self._peers = [], []
        if released:
            return [attempt.item for attempt in released]
        failed, self._failed = self._failed, []
        return failed

    def finish(self) -> None:
        """Release all repeats at the next barrier: no more attempts will be made."""
        self._delayed += self._past_barriers
        heapify(self._delayed)
        self._past_barriers = []
