"""The schedule: a heap of integers beside a table of due work."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Final, Literal, TypeAlias

#: The kinds of due work: a message is dropped (§3 rule 5), an event is attempted late or again, a
#: step of a script is performed, the autopilot delivers or fails a message, reads it, or replies.
DueKind: TypeAlias = Literal["drop", "attempt", "step", "autopilot", "reading", "reply"]

#: A key is ``due << _BITS | sequence``: one integer that sorts by time, then by arrival, so that
#: ties never compare the work itself.
_BITS: Final = 40
_SEQUENCE: Final = (1 << _BITS) - 1


#: A piece of due work: its moment in nanoseconds, its kind, and its subject (a message, an event on
#: its way, a verb with its line). A plain tuple, because a test may move time over 100,000 of them.
DueWork: TypeAlias = tuple[int, DueKind, Any]


def due_of(key: int) -> int:
    """Return when the work behind a key is due, in nanoseconds."""
    return key >> _BITS


class Schedule:
    """Pieces of work, each due at a moment in nanoseconds; the earliest comes first.

    Attributes:
        work: The pending work, by the keys that cancel it.
    """

    __slots__ = ("_heap", "_sequence", "work")

    def __init__(self) -> None:
        self._heap: list[int] = []
        self.work: dict[int, tuple[DueKind, object]] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self.work)

    def add(self, due: int, kind: DueKind, subject: object) -> int:
        """Schedule a piece of work; return the key that cancels it."""
        self._sequence += 1
        key = due << _BITS | (self._sequence & _SEQUENCE)
        self.work[key] = (kind, subject)
        heappush(self._heap, key)
        return key

    def cancel(self, key: int) -> None:
        """Forget the work behind ``key``; nothing happens if it was done already."""
        if self.work.pop(key, None) is None:
            return
        # Cancelled keys stay in the heap until they come up; most messages are delivered long
        # before their drop is due, so without this the heap would keep one for each of them.
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self.work):
            self._heap = list(self.work)
            heapify(self._heap)

    def next_due(self) -> int | None:
        """Return when the earliest work is due, in nanoseconds; None if nothing is pending."""
        heap = self._heap
        while heap:
            if heap[0] in self.work:
                return heap[0] >> _BITS
            heappop(heap)
        return None

    def is_due(self, now: int) -> bool:
        """Return whether a piece of work is due at ``now``."""
        heap = self._heap
        while heap and heap[0] >> _BITS <= now:
            if heap[0] in self.work:
                return True
            heappop(heap)
        return False

    def pending(self) -> list[DueWork]:
        """Return all pending work, in due order."""
        return [(key >> _BITS, *self.work[key]) for key in sorted(self.work)]

    def pop_due(self, now: int) -> DueWork | None:
        """Take out the earliest piece of work that is due at ``now``."""
        heap, latest = self._heap, (now + 1) << _BITS
        while heap and heap[0] < latest:
            key = heappop(heap)
            work = self.work.pop(key, None)
            if work is not None:
                return (key >> _BITS, *work)
        return None

    def clear(self) -> None:
        """Forget everything, and start counting anew."""
        self._heap.clear()
        self.work.clear()
        self._sequence = 0
