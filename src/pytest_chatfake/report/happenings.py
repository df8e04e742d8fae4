"""One thing that happened in a fake, as it is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from ..base.calling_line import Line
from ..base.views import counted
from ..domain.instants import SECOND
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.reasons import Rule
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.in_flight import InFlight

Kind: TypeAlias = Literal[
    "verb", "hold", "charge", "release", "event", "attempt", "request", "clock", "drop", "fault"
]


class Happening(NamedTuple):
    """One thing that happened.

    Attributes:
        number: Its place, from 1.
        moment: When, in nanoseconds since the epoch.
        kind: What kind of thing.
        text: What, in a few words, with labels.
        state: The message that it is about, if it is about one.
        cause: The number of what caused it, if that is known.
        line: Where the test asked for it; None if it did not.
        marks: What is not as the service would do it.
        failed: Whether it is an answer that was not 2xx, or none at all, and nobody asked for that.
        record: Its record: what exactly happened.
        rule: What it rests on, if it is an event or a drop of the service's own.
        mark_kinds: The kinds of its marks.
    """

    number: int
    moment: int
    kind: Kind
    text: str
    state: MessageState | None = None
    cause: int | None = None
    line: Line | None = None
    marks: tuple[str, ...] = ()
    failed: bool = False
    record: object = None
    rule: Rule | None = None
    mark_kinds: tuple[str, ...] = ()

    @property
    def amount(self) -> Decimal | None:
        """The amount of a hold, a release or a charge."""
        return self.record.amount if isinstance(self.record, LedgerEntry) else None

    @property
    def endpoint(self) -> Endpoint | None:
        """Where an attempt went."""
        return self.record.endpoint if isinstance(self.record, (Attempt, InFlight)) else None


def length(nanoseconds: int) -> str:
    """Write a length of time as a person would: ``30 days``, ``1 h 30 min``, ``0.5 s``."""
    seconds, rest = divmod(nanoseconds, SECOND)
    parts: list[str] = []
    for size, unit, plural in ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min")):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(counted(count, unit, plural))
    if seconds or rest or not parts:
        parts.append(f"{seconds + rest / SECOND:g} s")
    return " ".join(parts)
