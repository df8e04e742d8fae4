"""The backlog of delayed attempts: what each one waits for, and which ones a barrier releases."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from ..base.triggers import Trigger

T = TypeVar("T")


class _Delayed(NamedTuple, Generic[T]):
    """A delayed attempt; the smallest is the next one.

    Attributes:
        until: How many attempts must have been made first.
        number: Its number among all delayed attempts.
        item: The attempt.
        fault: The fault that delays it.
    """

    until: int
    number: int
    item: T
    fault: Trigger


class Backlog(Generic[T]):
    """A queue of delayed attempts."""

    def __init__(self) -> None:
        self._made = 0
        self._count = 0
        # Heaps: the first item is next.
        self._delayed: list[_Delayed[T]] = []
        self._waiting_on: list[_Delayed[T]] = []  # barriers don't release these
        self._peers: list[_Delayed[T]] = []
        self._failed: list[T] = []

    @property
    def items(self) -> list[T]:
        """All delayed attempts."""
        delayed = [*self._delayed, *self._waiting_on, *self._peers]
        delayed.sort(key=attrgetter("number"))
        return [*(attempt.item for attempt in delayed), *self._failed]

    # Delaying

    def delay(self, item: T, steps: int, fault: Trigger) -> None:
        """Delay an attempt until ``steps`` others were made, or until the next barrier."""
        heappush(self._delayed, self._until(steps, item, fault))

    def repeat(self, item: T, steps: int, fault: Trigger, *, waits_on: bool) -> None:
        """Delay a repeat until its attempt and ``steps`` others were made."""
        queue = self._waiting_on if waits_on else self._delayed
        heappush(queue, self._until(steps + 1, item, fault))

    def await_peer(self, item: T, steps: int, fault: Trigger) -> None:
        """Delay an attempt until ``steps`` others come; make it together with the last of them."""
        heappush(self._peers, self._until(steps, item, fault))

    def keep_failed(self, item: T) -> None:
        """Keep the repeat of a failed attempt until the next barrier."""
        self._failed.append(item)

    def _until(self, steps: int, item: T, fault: Trigger) -> _Delayed[T]:
        self._count += 1
        return _Delayed(self._made + steps, self._count, item, fault)

    # What is next

    def take_peers(self) -> list[T]:
        """Remove and return the attempts to make at the same time as the next one."""
        peers: list[T] = []
        while self._peers and self._peers[0].until <= self._made + 1:
            peers.append(heappop(self._peers).item)
        return peers

    def note_attempt(self) -> T | None:
        """Count an attempt that was made; remove and return a delayed attempt whose turn it is."""
        self._made += 1
        queues = (self._delayed, self._waiting_on)
        ready = [queue for queue in queues if queue and queue[0].until <= self._made]
        return heappop(min(ready)).item if ready else None

    def forget_failed(self, is_over: Callable[[T], bool]) -> None:
        """Forget the repeats of failed attempts that will no longer be made."""
        self._failed = [repeat for repeat in self._failed if not is_over(repeat)]

    # Barriers

    def release(self) -> list[T]:
        """Remove and return the attempts that a barrier releases.

        The repeats of failed attempts are only released when nothing else is left.
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
        """Release all repeats at the next barrier, because no more attempts will come."""
        self._delayed += self._waiting_on
        heapify(self._delayed)
        self._waiting_on = []
