"""What is emitted: events, and the log that keeps them.

A test may keep 300,000 of them. So the log is a few columns in step, in which what is the same is
kept once, and an event is a place in it.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from ..base.calling_line import Line
from ..domain.ids import Ids
from ..domain.instants import instant


class EventLog:
    """Every event of a fake, in the order in which they were emitted.

    Args:
        ids: Templates of their ids.
        type_: The type of them all.
        per_message: Whether all events of a message share one id.
    """

    def __init__(self, ids: Ids, type_: str, *, per_message: bool) -> None:
        self._ids = ids
        self._type = type_
        self._per_message = per_message
        self._statuses: list[str] = []
        self._numbers = array("Q")  # of the messages
        self._bodies: list[bytes] = []
        self._lines: list[Line] = []
        self._moments: list[int] = []  # where time stands still, all share one integer
        self._synthetic: set[int] = set()
        self._by_message: defaultdict[int, list[Event]] = defaultdict(list)
        self._indexed = 0

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: int) -> Event:
        return Event(self, range(len(self))[index])

    def __iter__(self) -> Iterator[Event]:
        return (Event(self, index) for index in range(len(self)))

    def id_at(self, index: int, number: int) -> str:
        """Return the id of the event at a place, which is about the message of a number."""
        return self._ids.event % (number if self._per_message else index + 1)

    def add(
        self,
        status: str,
        number: int,
        body: bytes,
        line: Line,
        moment: int,
        *,
        synthetic: bool = False,
    ) -> Event:
        """Add an event about the message of a number; see :class:`Event` for the rest."""
        index = len(self._moments)
        self._statuses.append(status)
        self._numbers.append(number)
        self._bodies.append(body)
        self._lines.append(line)
        self._moments.append(moment)
        if synthetic:
            self._synthetic.add(index)
        return Event(self, index)

    def of(self, number: int) -> Sequence[Event]:
        """Return the events about the message of a number, in order."""
        # The index is made when it is first asked for: many tests never ask.
        for index in range(self._indexed, len(self)):
            self._by_message[self._numbers[index]].append(Event(self, index))
        self._indexed = len(self)
        return self._by_message.get(number, ())


class Event:
    """One event that the service emitted (§2.2, §6), whoever listens."""

    __slots__ = ("_index", "_log")

    def __init__(self, log: EventLog, index: int) -> None:
        self._log = log
        self._index = index

    def __repr__(self) -> str:
        return f"<Event {self.id} {self.status} of message {self.message_id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._log is other._log and self._index == other._index

    def __hash__(self) -> int:
        return hash(self._index)

    @property
    def id(self) -> str:
        """The event's identifier, ``evt_...``."""
        return self._log.id_at(self._index, self._log._numbers[self._index])

    @property
    def type(self) -> str:
        """For example ``chat.message.updated``."""
        return self._log._type

    @property
    def status(self) -> str:
        """The message's status in it."""
        return self._log._statuses[self._index]

    @property
    def message_id(self) -> str:
        """The service's id of the message."""
        return self._log._ids.message % self._log._numbers[self._index]

    @property
    def body(self) -> bytes:
        """The exact bytes that every attempt at it sends."""
        return self._log._bodies[self._index]

    @property
    def line(self) -> Line:
        """The line of the test that caused it."""
        return self._log._lines[self._index]

    @property
    def moment(self) -> int:
        """When it was emitted, in nanoseconds since the epoch."""
        return self._log._moments[self._index]

    @property
    def create_time(self) -> datetime:
        """The same: aware, UTC, to the microsecond (the body shows milliseconds)."""
        return instant(self.moment)

    @property
    def synthetic(self) -> bool:
        """Whether ``emit`` made it, and the service would not have."""
        return self._index in self._log._synthetic

    @property
    def forged(self) -> bool:
        """The former name of :attr:`synthetic`."""
        return self.synthetic

    def json(self) -> Any:
        """Return the body parsed as JSON, with every fraction as an exact ``Decimal``.

        Raises:
            ValueError: The body is not JSON (it was emitted broken on purpose).
        """
        return json.loads(self.body, parse_float=Decimal)
