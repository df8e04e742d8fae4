"""What is emitted, and what became of it: events and attempts, and the logs that keep them.

A test may keep 300,000 of each. So a log is a few columns in step, in which what is the same is
kept once, and an event or an attempt is a place in its log.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from ..domain.instants import instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ..base.calling_line import Line
    from ..domain.ids import Ids
    from .endpoints import Endpoint
    from .requests import Answer

__all__ = ["Attempt", "AttemptLog", "Event", "EventLog"]


class EventLog:
    """Every event of a fake, in the order in which they were emitted.

    Args:
        ids: Who writes their ids.
        type_: The type of them all.
        per_message: Whether all events of a message share one id.
    """

    def __init__(self, ids: Ids, type_: str, *, per_message: bool) -> None:
        self._ids = ids
        self._type = type_
        self._per_message = per_message
        self._statuses: list[str] = []
        self._message_ids: list[str] = []
        self._bodies: list[bytes] = []
        self._lines: list[Line] = []
        self._moments: list[int] = []
        self._forged: set[int] = set()
        self._by_message: defaultdict[str, list[Event]] = defaultdict(list)
        self._indexed = 0

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: int) -> Event:
        return Event(self, range(len(self))[index])

    def __iter__(self) -> Iterator[Event]:
        return (Event(self, index) for index in range(len(self)))

    def next_id(self, message_id: str) -> str:
        """Return the id that the next event will have if it is about this message."""
        return self._id(len(self._moments), message_id)

    def add(
        self,
        status: str,
        message_id: str,
        body: bytes,
        line: Line,
        moment: int,
        *,
        forged: bool = False,
    ) -> Event:
        """Add an event; see :class:`Event` for what it is made of."""
        index = len(self._moments)
        if forged:
            self._forged.add(index)
        self._statuses.append(status)
        self._message_ids.append(message_id)
        self._bodies.append(body)
        self._lines.append(line)
        self._moments.append(moment)
        return Event(self, index)

    def of(self, message_id: str) -> Sequence[Event]:
        """Return the events of a message, in order."""
        # The index is made when it is first asked for: many tests never ask.
        for index in range(self._indexed, len(self)):
            self._by_message[self._message_ids[index]].append(Event(self, index))
        self._indexed = len(self)
        return self._by_message.get(message_id, ())

    def _id(self, index: int, message_id: str) -> str:
        return self._ids.event(self._ids.number(message_id) if self._per_message else index + 1)


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
        return self._log._id(self._index, self.message_id)

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
        return self._log._message_ids[self._index]

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
    def forged(self) -> bool:
        """Whether ``emit`` made it, and the service would not have."""
        return self._index in self._log._forged

    @property
    def create_time(self) -> datetime:
        """When it was emitted: aware, UTC, to the microsecond (the body shows milliseconds)."""
        return instant(self.moment)

    def json(self) -> Any:
        """Return the body parsed as JSON, with every fraction as an exact ``Decimal``.

        Raises:
            ValueError: The body is not JSON (it was emitted broken on purpose).
        """
        return json.loads(self.body, parse_float=Decimal)


class How(NamedTuple):
    """How an attempt was made and how it ended; most attempts share this with others.

    Attributes:
        endpoint: Where it went.
        number: 1 for the first attempt, 2 for the first retry.
        fault: The kind of the last fault that shaped it; None without.
        answer: What came back.
    """

    endpoint: Endpoint
    number: int
    fault: str | None
    answer: Answer


class AttemptLog:
    """Every attempt of a fake, in the order in which they were made.

    Args:
        events: The events that they are about.

    Attributes:
        events: The same.
        surfaced: The place of each whose error came back in the test.
    """

    def __init__(self, events: EventLog) -> None:
        self.events = events
        self.surfaced: set[int] = set()
        self._events = array("Q")
        self._hows: list[How] = []
        self._moments: list[int] = []
        self._last: dict[Endpoint, How] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: int) -> Attempt:
        return Attempt(self, range(len(self))[index])

    def __iter__(self) -> Iterator[Attempt]:
        return (Attempt(self, index) for index in range(len(self)))

    def add(
        self,
        event: Event,
        endpoint: Endpoint,
        number: int,
        fault: str | None,
        answer: Answer,
        moment: int,
    ) -> int:
        """Add an attempt at an event, and return its place; see :class:`How` for the rest."""
        found = (endpoint, number, fault, answer)
        with self._lock:  # a loss is recorded by whoever emits, while somebody else attempts
            how = self._last.get(endpoint)
            # An app's errors are never compared.
            if how is None or answer.error is not None or how != found:
                how = self._last[endpoint] = How(*found)
            self._events.append(event._index)
            self._hows.append(how)
            self._moments.append(moment)
            return len(self._moments) - 1

    def failed(self, start: int) -> list[int]:
        """Return the places of those that failed, from ``start`` on."""
        hows = self._hows
        return [place for place in range(start, len(self)) if not hows[place].answer.ok]


class Attempt:
    """One attempt to bring an event to an endpoint, and how it ended."""

    __slots__ = ("_index", "_log")

    def __init__(self, log: AttemptLog, index: int) -> None:
        self._log = log
        self._index = index

    def __repr__(self) -> str:
        return f"<Attempt {self.number} at {self.event.id} ({self.event.status}): {self.outcome}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Attempt) and self._log is other._log and self._index == other._index
        )

    def __hash__(self) -> int:
        return hash(self._index)

    @property
    def event(self) -> Event:
        """The event."""
        return Event(self._log.events, self._log._events[self._index])

    @property
    def _how(self) -> How:
        return self._log._hows[self._index]

    @property
    def number(self) -> int:
        """1 for the first attempt, 2 for the first retry."""
        return self._how.number

    @property
    def endpoint(self) -> Endpoint:
        """Where it went."""
        return self._how.endpoint

    @property
    def fault(self) -> str | None:
        """The kind of the last fault that shaped it; None without.

        ``"duplicate"``, ``"drop"``, ``"delay"``, ``"tamper"`` or ``"sign"``.
        """
        return self._how.fault

    @property
    def moment(self) -> int:
        """When it was made, in nanoseconds since the epoch."""
        return self._log._moments[self._index]

    @property
    def at(self) -> datetime:
        """When it was made: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def status_code(self) -> int | None:
        """The answer's status; None if no answer came."""
        return self._how.answer.status

    @property
    def body(self) -> bytes:
        """The answer's body."""
        return self._how.answer.body

    @property
    def error(self) -> BaseException | None:
        """What went wrong, if no answer came or an in-process app raised."""
        return self._how.answer.error

    @property
    def ok(self) -> bool:
        """Whether the endpoint took the event: it answered with a status from 200 to 299."""
        return self._how.answer.ok

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if self.fault == "drop":
            return "dropped by a fault"
        if self.error is not None:
            return f"{type(self.error).__name__}: {_text_of(self.error)}".rstrip(": ")
        return f"answered {self.status_code}"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an app's error, in the middle of a report
        return "(its text can't be shown)"
