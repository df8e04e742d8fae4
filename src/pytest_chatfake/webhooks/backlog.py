"""Attempts that wait for others: how many, and what happens at a barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from .faults import Fault

T = TypeVar("T")


class _Waiting(NamedTuple, Generic[T]):
    """Something that waits.

    Attributes:
        until: How many attempts must have been made by then.
        item: What is attempted then.
        fault: What lets it wait; None: nobody asks.
        past_barriers: Whether a barrier does not end that.
    """

    until: int
    item: T
    fault: Fault | None
    past_barriers: bool


class Backlog(Generic[T]):
    """What waits to be attempted, whatever it is: an explored order is foreseen by the same rules.

    An attempt may wait:

    - *reordered*, until so many others were made;
    - *duplicated*, its repeat until so many others were made;
    - for *peers*, until the next attempt with which it is to be made at the same time;
    - *failed* (a lost response, a refusal, a response that is not 2xx), until the next barrier.
    """

    def __init__(self) -> None:
        self._made = 0
        self._waiting: list[_Waiting[T]] = []
        self._peers: list[_Waiting[T]] = []
        self._failed: list[T] = []

    @property
    def items(self) -> list[T]:
        """All that waits."""
        return [*(one.item for one in (*self._waiting, *self._peers)), *self._failed]

    def take(
        self,
        kind: str,
        steps: int,
        item: T,
        fault: Fault | None = None,
        past_barriers: bool = False,
    ) -> bool:
        """Let an attempt wait, or its repeat, if this is a kind of fault that asks for it.

        Returns:
            Whether the attempt itself is made now.
        """
        until = self._made + steps + (kind == "duplicate")  # which counts its first attempt, too
        waiting = _Waiting(until, item, fault, past_barriers)
        if kind in {"duplicate", "reorder"}:
            self._waiting.append(waiting)
        elif kind == "concurrently":
            self._peers.append(waiting)
        return kind not in {"reorder", "concurrently"}

    def take_peers(self) -> list[T]:
        """Take out what is made at the same time as the next attempt."""
        peers = [one for one in self._peers if one.until <= self._made + 1]
        self._peers = [one for one in self._peers if one not in peers]
        return [one.item for one in peers]

    def note_attempt(self) -> T | None:
        """Count an attempt; return what has waited for as many as it had to, and is next."""
        self._made += 1
        for place, one in enumerate(self._waiting):
            if one.until <= self._made:
                del self._waiting[place]
                return one.item
        return None

    def keep_failed(self, repeat: T) -> None:
        """Keep the repeat of a failed attempt until the next barrier."""
        self._failed.append(repeat)

    def forget_failed(self, is_over: Callable[[T], bool]) -> None:
        """Forget the repeats of failed attempts that will not be made."""
        self._failed = [repeat for repeat in self._failed if not is_over(repeat)]

    def release(self) -> list[T]:
        """Take out what waits for other attempts; if there is nothing, what has failed."""
        over = [*(one for one in self._waiting if not one.past_barriers), *self._peers]
        for one in over:
            if one.fault is not None:
                one.fault._is_short = True
        self._waiting = [one for one in self._waiting if one.past_barriers]
        self._peers = []
        if over:
            return [one.item for one in over]
        failed, self._failed = self._failed, []
        return failed

    def finish(self) -> None:
        """Let the next barrier release all repeats, as no more attempts will be made."""
        self._waiting = [one._replace(past_barriers=False) for one in self._waiting]
