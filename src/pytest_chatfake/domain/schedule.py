"""The schedule: what will happen, and when."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Literal, TypeAlias

#: The kinds of work: dropping a message (§3 rule 5), a late or repeated attempt, a script's step,
#: an autopilot's delivery or failure, reading, and reply.
DueKind: TypeAlias = Literal["drop", "attempt", "step", "autopilot", "reading", "reply"]

#: A key is ``due << _BITS | sequence``, an integer that sorts by time and then by arrival, so ties
#: never compare the work itself.
_BITS = 40


#: A piece of work: when it is due, in nanoseconds, its kind, and its subject (a message, an
#: attempt, or a verb with its line).
DueWork: TypeAlias = tuple[int, DueKind, Any]


def due_of(key: int) -> int:
    """Return when a key's work is due, in nanoseconds."""
    return key >> _BITS


class Schedule:
    """Pieces of work, each due at a moment in nanoseconds; the earliest comes first.

    There is a heap of keys and a table of work. A cancelled key stays in the heap until its turn.

    Attributes:
        work: The pending work, by key.
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
        """Cancel the work with this key; a no-op if the work was done already."""
        if self.work.pop(key, None) is None:
            return
        # Most messages are delivered long before their drop is due, so without this, the heap would
        # keep a key for each of them.
        if len(self._heap) > 2 * len(self.work) + 64:
            self._heap = list(self.work)
            heapify(self._heap)

    def next_due(self) -> int | None:
        """Return when the next work is due, in nanoseconds; None if nothing is pending."""
        heap = self._heap
        while heap:
            if heap[0] in self.work:
                return heap[0] >> _BITS
            heappop(heap)
        return None

    def is_due(self, now: int) -> bool:
        """Return whether any work is due at ``now``."""
        heap = self._heap
        if not heap or heap[0] >> _BITS > now:  # not even cancelled work
            return False
        due = self.next_due()
        return due is not None and due <= now

    def pending(self) -> list[DueWork]:
        """Return all pending work, the earliest first."""
        return [(due_of(key), *self.work[key]) for key in sorted(self.work)]

    def pop(self) -> DueWork:
        """Remove and return the earliest work, whose moment :meth:`next_due` has just returned."""
        key = heappop(self._heap)
        kind, subject = self.work.pop(key)
        return key >> _BITS, kind, subject
