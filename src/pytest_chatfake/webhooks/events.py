"""Events, and the log that keeps them.

A test may keep 300,000 of them. So the log is a few parallel columns that share equal values, and
an event is an index into it.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from ..base.calling_line import Line
from ..base.controls import one_line
from ..base.growing_index import GrowingIndex
from ..domain.ids import Ids
from ..domain.instants import instant


class OtherEvent(NamedTuple):
    """An event that a test asks for, and no rule of the service makes.

    Attributes:
        type: Its type.
        id: Its id; None: one of a sequence of its own.
        key: The envelope's field that holds the resource.
        resource: The resource, as JSON text.
        body: The whole body instead of an envelope.
        status: Of a recorded event: the status of the message that it is about; else empty.
        about: Of a recorded event: the id of that message; else empty.
    """

    type: str
    id: str | None
    key: str
    resource: str
    body: bytes | None
    status: str = ""
    about: str = ""


class EventLog:
    """Every event of a fake, in the order in which they were emitted."""

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
        # Of those whose type or id is not the usual one: by their place.
        self._types: dict[int, str] = {}
        self._given_ids: dict[int, str] = {}
        self._about: dict[int, str] = {}  # messages of which recorded events tell
        self._recorded: dict[str, int] = {}  # numbers of these messages, by their ids
        self._other_places: list[int] = []
        self._unknown = 0  # events of a type that nobody knows
        self._by_message: GrowingIndex[int, int] = GrowingIndex(self._numbers, int)

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: int) -> Event:
        return Event(self, range(len(self))[index])

    def __iter__(self) -> Iterator[Event]:
        return (Event(self, index) for index in range(len(self)))

    def id_of(self, event: Event, number: int) -> str:
        """Return the id of an event about the message of a number, which may be an upcoming one."""
        if self._per_message:
            return self._ids.event % number
        if self._other_places:  # events of other types have a sequence of their own
            return self._ids.event % (event._index - bisect(self._other_places, event._index) + 1)
        return self._ids.event % (event._index + 1)

    def upcoming(self, ahead: int = 0) -> Event:
        """Return a future event: the next one, or one after so many others."""
        return Event(self, len(self._moments) + ahead)

    def add(self, status: str, number: int, body: bytes, line: Line, moment: int) -> None:
        """Add the next event, about the message of a number; see :class:`Event` for the rest."""
        self._statuses.append(status)
        self._numbers.append(number)
        self._bodies.append(body)
        self._lines.append(line)
        self._moments.append(moment)

    def add_synthetic(
        self, status: str, number: int, body: bytes, line: Line, moment: int, type_: str
    ) -> None:
        """Add an event that the service would not have emitted, perhaps under another type."""
        index = len(self._moments)
        self.add(status, number, body, line, moment)
        self._synthetic.add(index)
        if type_ != self._type:
            self._types[index] = type_

    @property
    def _next_other(self) -> int:
        return len(self._given_ids) - self._unknown + 1

    def next_other_id(self) -> str:
        """Return the id of the next event of another type, if no other one is given."""
        return self._ids.other_event % self._next_other

    def next_unknown_id(self) -> str:
        """Take the next id of the events of a type that nobody knows: of no other sequence."""
        self._unknown += 1
        return self._ids.unknown_event % self._unknown

    def next_inbound_id(self) -> str:
        """Return the id of the next message that a person writes, numbered as its event."""
        return self._ids.inbound % self._next_other

    def add_other(self, draft: OtherEvent, body: bytes, line: Line, moment: int) -> None:
        """Add an event of another type, or a recorded one: it belongs to no message of the fake."""
        index = len(self._moments)
        self.add(draft.status, 0, body, line, moment)
        self._types[index] = draft.type
        self._given_ids[index] = draft.id or ""
        self._other_places.append(index)
        if draft.about:
            self._about[index] = draft.about
            self._recorded.setdefault(draft.about, len(self._recorded) + 1)

    def of(self, number: int) -> Sequence[Event]:
        """Return the events about the message of a number, in order."""
        return [Event(self, index) for index in self._by_message.places(number)]


class Event:
    """One event that the service emitted (§2.2, §6), whoever listens."""

    __slots__ = ("_index", "_log")

    def __init__(self, log: EventLog, index: int) -> None:
        self._log = log
        self._index = index

    def __repr__(self) -> str:
        return one_line(f"<Event {self.id} {self._subject}>")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._log is other._log and self._index == other._index

    def __hash__(self) -> int:
        return hash(self._index)

    @property
    def id(self) -> str:
        """The event's identifier, ``evt_...``."""
        given = self._log._given_ids.get(self._index)
        return given or self._log.id_of(self, self._log._numbers[self._index])

    @property
    def type(self) -> str:
        """For example ``chat.message.updated``."""
        return self._log._types.get(self._index, self._log._type)

    @property
    def status(self) -> str | None:
        """The message's status in it; None if it is of another type, and about no message.

        An event that ``replay()`` made has the one that was recorded.
        """
        return self._log._statuses[self._index] or None

    @property
    def message_id(self) -> str | None:
        """The service's id of the message; None if it is about none."""
        number = self._log._numbers[self._index]
        return self._log._ids.message % number if number else None

    @property
    def _label(self) -> str:
        """What an event of another type is called: its type, and its number from the second on."""
        before = self._log._other_places[: bisect(self._log._other_places, self._index)]
        nth = [self._log._types[place] for place in before].count(self.type)
        return self.type if nth == 1 else f"{self.type} #{nth}"

    @property
    def _subject(self) -> str:
        """What it is about, in a few words of a report."""
        if self.status is None:
            return self._label
        return f"{self.status} of {self._whose}"

    @property
    def _title(self) -> str:
        """The same as part of a sentence."""
        if self.status is None:
            return f"the {self._label} event"
        return f"the {self.status} event of {self._whose}"

    @property
    def _whose(self) -> str:
        if self.message_id is not None:
            return f"message {self.message_id}"
        return f"the recorded message {self._about}".rstrip()

    @property
    def _about(self) -> str:
        """The id of the message that a recorded event tells of; empty if it tells of none."""
        return self._log._about.get(self._index, "")

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

    def json(self) -> Any:
        """Return the body parsed as JSON, with every fraction as an exact ``Decimal``.

        Raises:
            ValueError: The body is not JSON (it was emitted broken on purpose).
        """
        return json.loads(self.body, parse_float=Decimal)
