"""Events: the service's own, and those that a test makes."""

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
    """An event for ``emit_event()``, ``replay()`` or a person who writes.

    Attributes:
        type: The event's type.
        id: Its id; None: the next one in the sequence for such events.
        key: The envelope's field that holds the resource.
        resource: The resource, as JSON text.
        body: The whole body, instead of key and resource.
        status: For a recorded event, its message's status; else empty.
        recorded_id: For a recorded event, its message's id; else empty.
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
        type: The event's type, such as ``chat.message.updated``.
        status: The message's status; None if the event isn't about a message.
            For a replayed event, it is the recorded status.
        body: The service's own bytes. Attempts post exactly these, unless
            ``ChatFakeConfig(outbound=)``, or a fault such as ``tamper()``, changes them.
        line: The line of the test that caused the event.
        moment: When the event was emitted, in nanoseconds since the epoch.
        synthetic: Whether ``emit()`` made the event; the service would not have sent it.
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
    _outbound: Outbound | None = None  # None: the body is posted unchanged

    def __repr__(self) -> str:
        return one_line(f"<Event {self.id} {self._full_name}>")

    @property
    def message_id(self) -> str | None:
        """The message's identifier at the service; None if the event is about no message."""
        return None if self._message is None else self._message.id

    @property
    def create_time(self) -> datetime:
        """When the event was emitted: aware, UTC, to the microsecond (the body: milliseconds)."""
        return instant(shown(self.moment))

    def json(self) -> Any:
        """Parse the body as JSON, with fractions as exact ``Decimal``s.

        Raises:
            ValueError: The body is not JSON, because the test broke it on purpose.
        """
        return json.loads(self.body, parse_float=Decimal)

    @property
    def _is_posted(self) -> bool:
        return self._outbound is None or self._outbound.posts(self.body)

    def _posted(self, body: bytes) -> bytes:
        posted = body if self._outbound is None else self._outbound.posted(body)
        if posted is None:
            raise TypeError(
                "what the outbound= function returned: expected a body, as for the same event "
                "under its first id, got None"
            )
        return posted

    def _seen(self, changed: bytes, body: bytes) -> bytes:
        # outbound= may leave out the changed part, so that nothing has changed for the app.
        with suppress(Exception):  # it may raise for a body that the service never writes
            if self._posted(changed) != self._posted(body):
                return changed
        return body

    @property
    def _label(self) -> str:
        return self.type

    @property
    def _name(self) -> str:
        # ``delivered m1``, for texts with a timeline, which explains the number.
        if self.status is None:
            return self._label
        return event_name(self.status, self._number) + " (recorded)" * (self._number == 0)

    @property
    def _full_name(self) -> str:
        # ``delivered m1 (message 385c)``, for texts without a timeline.
        id_ = self.message_id or self._recorded_id
        return f"{self._name} (message {id_})" if id_ else self._name

    @property
    def _recorded_id(self) -> str:
        return ""

    @property
    def _number(self) -> int:
        # Its message's number; negative for a recorded message, 0 for none.
        return 0 if self._message is None else self._message.number


@dataclass(slots=True, eq=False, repr=False)
class OtherEvent(Event):
    """An event about none of the fake's messages."""

    _ordinal: int = 1  # its number among the events of its type
    _recorded_message: str = ""  # if recorded: its message's id
    _recorded_number: int = 0  # if recorded: its message's number among the recorded messages

    @property
    def _recorded_id(self) -> str:
        return self._recorded_message

    @property
    def _label(self) -> str:
        # The type and, from the second event on, its number.
        return self.type if self._ordinal == 1 else f"{self.type} #{self._ordinal}"

    @property
    def _number(self) -> int:
        return -self._recorded_number


def event_name(what: str, number: int) -> str:
    """Name an event: ``delivered m1``, or ``delivered r1`` if the number is negative (recorded)."""
    return f"{what} {'m' if number > 0 else 'r'}{abs(number)}" if number else what


def events_are(events: Sequence[Event]) -> str:
    """Begin a sentence about events: ``sent m1 is``, ``sent m1 and 2 more are``."""
    others = len(events) - 1
    return events[0]._name + (f" and {others:,} more are" if others else " is")


def under_id(body: bytes, old: str, new: str) -> bytes:
    """Replace the event id in a body."""
    return body.replace(quoted(old).encode(), quoted(new).encode(), 1)
