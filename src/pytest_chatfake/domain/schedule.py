"""The schedule: what is to be done, and when."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Literal, TypeAlias

#: The kinds of work: a message is dropped (§3 rule 5), an event is attempted late or again, a step
#: of a script is performed, the autopilot delivers or fails a message, reads it, or replies.
DueKind: TypeAlias = Literal["drop", "attempt", "step", "autopilot", "reading", "reply"]

#: A key is ``due << _BITS | sequence``: an integer that sorts by time and then by arrival, so ties
#: never compare the work itself.
_BITS = 40


#: A piece of work: when it is due in nanoseconds, its kind, and its subject (a message, an attempt,
#: a verb with its line).
DueWork: TypeAlias = tuple[int, DueKind, Any]


def due_of(key: int) -> int:
    """Return when the work behind a key is due, in nanoseconds."""
    return key >> _BITS


class Schedule:
    """Pieces of work, each due at a moment in nanoseconds; the earliest comes first.

    A heap of keys is beside the table of work. A cancelled key stays in the heap until it comes up.

    Attributes:
        work: The pending work, by its keys.
    """

    def __init__(self) -> None:
        self._heap: list[int] = []
        self.work: dict[int, tuple[DueKind, object]] = {}
        self._sequence = 0

    def add(self, due: int, kind: DueKind, subject: object) -> int:
        """Schedule a piece of work; return its key, for :meth:`cancel`."""
        self._sequence += 1
        key = due << _BITS | self._sequence
        self.work[key] = (kind, subject)
        heappush(self._heap, key)
        return key

    def cancel(self, key: int) -> None:
        """Cancel the work with this key; nothing happens if it was done already."""
        if self.work.pop(key, None) is None:
            return
        # Most messages are delivered long before their drop is due: without this the heap would
        # keep the key of each of them.
        if len(self._heap) > 2 * len(self.work) + 64:
            self._heap = list(self.work)
            heapify(self._heap)

    def next_due(self) -> int | None:
        """Return when the next work is due, in nanoseconds; None if nothing is pending."""
        heap = self._heap
        while heap:
            if heap[0] in self.work:
                return due_of(heap[0])
            heappop(heap)
        return None

    def is_due(self, now: int) -> bool:
        """Return whether any work is due at ``now``."""
        due = self.next_due()
        return due is not None and due <= now

    def pending(self) -> list[DueWork]:
        """Return all pending work, the earliest first."""
        return [(due_of(key), *self.work[key]) for key in sorted(self.work)]

    def pop_due(self, now: int) -> DueWork | None:
        """Remove and return the earliest work that is due at ``now``; None if there is none."""
        if not self.is_due(now):
            return None
        key = heappop(self._heap)
        return (due_of(key), *self.work.pop(key))

    def clear(self) -> None:
        """Forget everything."""
        self._heap.clear()
        self.work.clear()
