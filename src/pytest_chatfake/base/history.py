"""The history of a fake: one list of records, in the order in which things began.

Each thing gets its record when it begins: a verb before the events that it causes, an attempt
before what its receiver does, a request before what its route does. So a cause always comes before
its effects. Later details, such as the response, are added to the same record.
"""

from __future__ import annotations

from typing import Any, TypeVar

from .marks import Mark


class Record:
    """Something that happened.

    Events, attempts, requests, faults and ledger entries are records, and tests get these very
    objects. Attributes that only reports need begin with an underscore.

    Attributes:
        _history: The history that it was added to.
        _cause: The record of its cause, if known.
        _message: The state of the message that it is about, if any.
        _marks: How it deviates from what the service would do.
        _rule: The rule behind it, if the service would do it.
    """

    __slots__ = ("_cause", "_history")

    _history: History
    _cause: Record | None
    _message: Any = None  # messages and rules belong to higher rooms
    _marks: tuple[Mark, ...] = ()
    _rule: Any = None
    moment: int

    @property
    def _began(self) -> int:
        return self.moment

    @property
    def _index(self) -> int:
        # Its index in the history; the timeline counts from 1.
        return self._history.place_of(self)


_R = TypeVar("_R", bound=Record)


class History(list[Record]):
    """Everything that happened in a fake since it was made, or last reset, in order.

    It needs no lock, although any thread may add a request: a record is in the history once it was
    appended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, int] = {}

    def add(self, record: _R, cause: Record | None = None) -> _R:
        """Add the record of something that begins now, and return it.

        A cause from before a reset is left out: code inside an old attempt may still be running.
        """
        record._cause = cause if cause is not None and cause._history is self else None
        record._history = self
        self.append(record)
        return record

    def has(self, record: Record) -> bool:
        """Return whether a record was added to this history, and not to one from before a reset."""
        return record._history is self

    def place_of(self, record: Record) -> int:
        """Return the index of a record, which is found out only when a report asks."""
        places = self._places
        for place in range(len(places), len(self)):
            places[id(self[place])] = place
        return places[id(record)]

    def effects_of(self, record: Record) -> list[Record]:
        """Return the direct and indirect effects of a record so far: none from before a reset."""
        if self and self[-1] is record:  # as after most requests
            return []
        caused = {id(record)}
        effects: list[Record] = []
        # A copy, because more may be added meanwhile.
        for later in self[record._index + 1 :]:
            if id(later._cause) in caused:
                caused.add(id(later))
                effects.append(later)
        return effects
