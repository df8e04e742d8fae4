"""Delayed attempts: how many others each waits for, and what a barrier releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .dispatch import Dispatch
from .faults import Fault


class _Delayed(NamedTuple):
    """A delayed attempt.

    Attributes:
        until: How many attempts must have been made before it.
        item: The attempt.
        fault: The fault that delays it.
        past_barriers: Whether it waits for so many even past barriers.
    """

    until: int
    item: Dispatch
    fault: Fault
    past_barriers: bool


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
        self._delayed: list[_Delayed] = []
        self._peers: list[_Delayed] = []
        self._failed: list[Dispatch] = []

    @property
    def items(self) -> list[Dispatch]:
        """All delayed attempts."""
        delayed = (*self._delayed, *self._peers)
        return [*(attempt.item for attempt in delayed), *self._failed]

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
        delayed = _Delayed(until, item, fault, past_barriers)
        if kind in {"duplicate", "reorder"}:
            self._delayed.append(delayed)
        elif kind == "concurrently":
            self._peers.append(delayed)
        return kind not in {"reorder", "concurrently"}

    def take_peers(self) -> list[Dispatch]:
        """Remove and return the attempts that are made at the same time as the next one."""
        peers = [peer for peer in self._peers if peer.until <= self._made + 1]
        self._peers = [peer for peer in self._peers if peer not in peers]
        return [peer.item for peer in peers]

    def note_attempt(self) -> Dispatch | None:
        """Count an attempt that was made; remove and return a delayed one that comes next."""
        self._made += 1
        for index, attempt in enumerate(self._delayed):
            if attempt.until <= self._made:
                del self._delayed[index]
                return attempt.item
        return None

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
        released = [attempt for attempt in self._delayed if not attempt.past_barriers]
        released += self._peers
        for attempt in released:
            attempt.fault._is_short = True
        self._delayed = [attempt for attempt in self._delayed if attempt.past_barriers]
        self._peers = []
        if released:
            return [attempt.item for attempt in released]
        failed, self._failed = self._failed, []
        return failed

    def finish(self) -> None:
        """Release all repeats at the next barrier: no more attempts will be made."""
        self._delayed = [attempt._replace(past_barriers=False) for attempt in self._delayed]
