"""The history of a fake: one list of records, in the order in which things began.

A record is made once, when its thing begins: a verb before what it posts, an attempt before what
its receiver does, a request before what its route does. So causes stand before effects. What is
known only later (a response, an end) is written into the same record.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from .marks import Mark


class Record:
    """One thing that happened.

    Events, attempts, requests, faults and entries of the ledger are records, and a test holds these
    very objects. What only reports ask for begins with an underscore.

    Attributes:
        _index: Its index in the history; its number in the timeline is one more.
        _cause: The record of what caused it, if that is known.
        _message: The state of the message that it is about, if it is about one.
        _marks: How it deviates from what the service would do.
        _rule: The rule that it rests on, if the service would do it.
    """

    __slots__ = ("_cause", "_index")

    _index: int
    _cause: Record | None
    _message: Any = None  # this room knows neither messages nor rules
    _marks: tuple[Mark, ...] = ()
    _rule: Any = None
    moment: int

    @property
    def _began(self) -> int:
        """When it began, in nanoseconds since the epoch."""
        return self.moment


_R = TypeVar("_R", bound=Record)


class History:
    """Everything that happened in a fake, since it was begun or reset.

    Requests and faults come from threads that do not hold the engine's lock, so it has its own.

    Attributes:
        records: All of it, in order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Begin a new list; what was read of the old one stays as it is."""
        with self._lock:
            self.records: list[Record] = []

    def add(self, record: _R, cause: Record | None = None) -> _R:
        """Add what begins now, and return it.

        A cause of before a reset is left out: code inside an old attempt or response goes on.
        """
        with self._lock:
            record._cause = cause if cause is not None and self.has(cause) else None
            record._index = len(self.records)
            self.records.append(record)
        return record

    def effects_of(self, record: Record) -> list[Record]:
        """Return what a record has caused so far, directly or not."""
        if not self.has(record):
            return []
        caused = {id(record)}
        effects: list[Record] = []
        for later in self.records[record._index + 1 :]:  # a copy: more may be added meanwhile
            if id(later._cause) in caused:
                caused.add(id(later))
                effects.append(later)
        return effects

    def has(self, record: Record) -> bool:
        """Return whether a record is part of this history, and not of one before a reset."""
        records, index = self.records, record._index  # a reset begins another list
        return index < len(records) and records[index] is record
