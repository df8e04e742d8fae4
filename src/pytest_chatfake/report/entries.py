"""One thing that happened in a fake, as a record: text is made of it when a person reads it."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.reasons import Rule
from ..engine.journal import ClockRecord, VerbRecord
from ..http_api.account import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.fault_kinds import effect_of
from ..webhooks.in_flight import InFlight

Kind: TypeAlias = Literal[
    "verb", "hold", "charge", "release", "event", "attempt", "request", "clock", "drop", "fault"
]


Record: TypeAlias = (
    VerbRecord
    | LedgerEntry
    | Event
    | Attempt
    | InFlight
    | ApiRequest
    | ClockRecord
    | MessageState
    | Trigger
)


class Entry(NamedTuple):
    """One thing that happened.

    Attributes:
        number: Its place, from 1.
        moment: When, in nanoseconds since the epoch.
        kind: What kind of thing.
        record: What exactly happened.
        state: The message that it is about, if it is about one.
        cause: The number of what caused it, if that is known.
        marks: What is not as the service would do it.
        rule: What it rests on, if it is an event or a drop of the service's own.
        posted: What a verb about the whole account posted.
        until: The number of the last attempt that a request caused before its own response.
    """

    number: int
    moment: int
    kind: Kind
    record: Record
    state: MessageState | None = None
    cause: int | None = None
    marks: tuple[Mark, ...] = ()
    rule: Rule | None = None
    posted: LedgerEntry | None = None
    until: int | None = None

    @property
    def verb(self) -> str:
        """What a verb is called, as ``deliver()``; empty if it is none."""
        return self.record.what if isinstance(self.record, VerbRecord) else ""

    @property
    def line(self) -> Line | None:
        """Where the test asked for it; None if it did not."""
        if isinstance(self.record, (VerbRecord, ClockRecord, Trigger)):
            return self.record.line
        return None

    @property
    def amount(self) -> Decimal | None:
        """The amount of a hold, a release or a charge."""
        return self.record.amount if isinstance(self.record, LedgerEntry) else None

    @property
    def endpoint(self) -> Endpoint | None:
        """Where an attempt went."""
        return self.record.endpoint if isinstance(self.record, (Attempt, InFlight)) else None

    @property
    def has_reached_app(self) -> bool:
        """Whether it is an attempt that no fault kept from the app."""
        if isinstance(self.record, Attempt):
            return effect_of(self.record.fault).reaches_app
        return isinstance(self.record, InFlight)

    @property
    def failed(self) -> bool:
        """Whether it is a response that was not 2xx, or none at all, and no fault asked for it."""
        if isinstance(self.record, Attempt):
            return not self.record.ok and not effect_of(self.record.fault).fails
        if isinstance(self.record, ApiRequest) and self.record.status is not None:
            return not 200 <= self.record.status <= 299 and not self.marks
        return False

    @property
    def retry(self) -> int:
        """Which retry an attempt is; 0 if it is none."""
        return self.record.number - 1 if isinstance(self.record, (Attempt, InFlight)) else 0

    @property
    def likeness(self) -> Hashable:
        """What it has in common with others that a report need not tell, too.

        That is all but its message, its moment, and the words of a response or of an error.
        """
        marks = tuple((mark.kind, mark.line) for mark in self.marks)
        return (self.kind, self.rule, marks, *self._own_likeness())

    def _own_likeness(self) -> tuple[Hashable, ...]:
        match self.record:
            case Attempt() as made:
                event = made.event
                outcome = made.status_code, type(made.error)
                return (event.type, event.status, made.endpoint, made.number, outcome)
            case Event() as event:
                return (event.type, event.status)
            case ApiRequest() as request:
                asked = request.method, request.path, request.accepted
                return (*asked, request.status, self.until is not None)
            case ClockRecord() as move:
                return (move.what, move.line, move.end - move.start)
            case VerbRecord() as verb:
                return (verb.what, verb.line)
            case Trigger() as fault:
                return (fault.description, fault.line, self.is_unused)
            case _:
                return (self.amount,)

    @property
    def is_unused(self) -> bool:
        """Whether it is a fault that never fired."""
        return isinstance(self.record, Trigger) and not self.record.fired

    @property
    def is_odd(self) -> bool:
        """Whether it has marks, or another thing that is not as usual."""
        return bool(self.marks or self.retry or self.failed or self.is_unused or self.until)
