"""Events of the service, and those that a test makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Final, NamedTuple

from ..base.calling_line import Line
from ..base.escaping import one_line
from ..base.history import Record
from ..base.marks import Mark
from ..domain.instants import instant, shown
from ..domain.messages import MessageState
from ..domain.reasons import Rule
from .outbound import Outbound


class CustomEvent(NamedTuple):
    """What a test asks for with ``emit_event()``, ``replay()`` or a person who writes.

    Attributes:
        type: The event's type.
        id: Its id; None: the next of the sequence for such events.
        key: The envelope's field that holds the resource.
        resource: The resource, as JSON text.
        body: The whole body instead of an envelope.
        status: Of a recorded event: the status of the message that it is about; else empty.
        recorded_id: Of a recorded event: the id of that message; else empty.
    """

    type: str
    id: str | None
    key: str
    resource: str
    body: bytes | None
    status: str = ""
    recorded_id: str = ""


@dataclass(slots=True, eq=False, repr=False)
class Event(Record):
    """One event that the service emitted (§2.2, §6), whether or not an endpoint listens.

    Attributes:
        id: The event's identifier, ``evt_...``.
        type: For example ``chat.message.updated``.
        status: The message's status in it; None if it is of another type, and about no message. An
            event that ``replay()`` made has the one that was recorded.
        body: The service's own bytes. Every attempt at it sends just these, unless
            ``ChatFakeConfig(outbound=)`` gives them another form.
        line: The line of the test that caused it.
        moment: When it was emitted, in nanoseconds since the epoch.
        synthetic: Whether ``emit`` made it, and the service would not have.
    """

    id: Final[str]
    type: Final[str]
    status: Final[str | None]
    body: Final[bytes]
    line: Final[Line]
    moment: int
    synthetic: Final[bool] = False
    _message: MessageState | None = None
    _rule: Rule | None = None
    _marks: tuple[Mark, ...] = ()
    _ordinal: int = 1  # of another type: how many of that type there are, this one included
    _recorded_id: str = ""  # of a recorded event: the id of the message that it is about
    _recorded_number: int = 0  # the same as a number: 1 is the first such message
    _outbound: Outbound | None = None  # None: it is posted as it is

    def __repr__(self) -> str:
        return one_line(f"<Event {self.id} {self._full_name}>")

    @property
    def message_id(self) -> str | None:
        """The service's id of the message; None if it is about none."""
        return None if self._message is None else self._message.id

    @property
    def create_time(self) -> datetime:
        """When it was emitted: aware, UTC, to the microsecond (the body shows milliseconds)."""
        return instant(shown(self.moment))

    def json(self) -> Any:
        """Return the body parsed as JSON, with every fraction as an exact ``Decimal``.

        Raises:
            ValueError: The body is not JSON (it was emitted broken on purpose).
        """
        return json.loads(self.body, parse_float=Decimal)

    def _posted(self, body: bytes) -> bytes:
        """Return what is posted in place of a body of this event."""
        return body if self._outbound is None else self._outbound.posted(body)

    def _seen(self, changed: bytes, body: bytes) -> bytes:
        """Return a changed body if that changes what is posted: ``outbound=`` may leave it out."""
        with suppress(Exception):  # it may refuse what the service never writes
            if self._posted(changed) != self._posted(body):
                return changed
        return body

    @property
    def _label(self) -> str:
        """What an event of another type is called: its type, and its number from the second on."""
        return self.type if self._ordinal == 1 else f"{self.type} #{self._ordinal}"

    @property
    def _name(self) -> str:
        """What it is called wherever a timeline explains the numbers: ``delivered m1``."""
        if self.status is None:
            return self._label
        return event_name(self.status, self._number) + " (recorded)" * (self._number == 0)

    @property
    def _full_name(self) -> str:
        """The same where there is no timeline: ``delivered m1 (message 385c)``."""
        id_ = self.message_id or self._recorded_id
        return f"{self._name} (message {id_})" if id_ else self._name

    @property
    def _number(self) -> int:
        """The number of the message that it is about; negative: recorded; 0: none."""
        return -self._recorded_number if self._message is None else self._message.number


def event_name(what: str, number: int) -> str:
    """Name an event: ``delivered m1``; a negative number is that of a recording, ``r1``."""
    return f"{what} {'m' if number > 0 else 'r'}{abs(number)}" if number else what


def events_are(events: Sequence[Event]) -> str:
    """Begin a sentence about events: ``sent m1 is``, ``sent m1 and 2 more are``."""
    others = len(events) - 1
    return events[0]._name + (f" and {others:,} more are" if others else " is")


def under_id(body: bytes, old: str, new: str) -> bytes:
    """Return the body of an event with another event id."""
    return body.replace(quoted(old).encode(), quoted(new).encode(), 1)
