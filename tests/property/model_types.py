"""The types of the reference model: labels for ids, times as integers, exact amounts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZERO = Decimal(0)

#: Who gets messages without an address.
NOBODY_IN_PARTICULAR = "+15550100"


class Refused(Exception):
    """The model's way to say that a call is refused; `kind` is the name of the error expected."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"{kind}: {why}")
        self.kind = kind


class SomeText:
    """Equal to every text that is not empty: words the specification leaves to the fake."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other != ""

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<some text>"


SOME_TEXT: Any = SomeText()


#: A platform error about which nothing was said.
SOME_PLATFORM_ERROR: dict[str, Any] = {
    "message": SOME_TEXT,
    "type": SOME_TEXT,
    "code": SOME_TEXT,
    "trace_id": SOME_TEXT,
    "error_data": {"messaging_product": "chat", "details": SOME_TEXT},
}
#: How a message to a number that is not registered fails (§7.2; assumed: after it was sent).
NOT_REGISTERED: Any = ("131026", SOME_TEXT, SOME_PLATFORM_ERROR)


@dataclass(frozen=True)
class Label:
    """The model's name for an id; the n-th message, conversation, event, channel id."""

    kind: str
    number: int

    def __repr__(self) -> str:
        return f"{self.kind}{self.number}"


def stamp(at: int) -> str:
    """ISO 8601, UTC, milliseconds, `Z` (§2.2, §2.3); what is below a millisecond is cut off."""
    moment = EPOCH + timedelta(microseconds=at // 1000 * 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


@dataclass(frozen=True)
class Person:
    """Who gets a message, and how things stand with their phone (§3)."""

    address: str | None = None
    devices: int = 1
    receipts: bool = True
    online: bool = True
    blocked: bool = False
    chat_open: bool = False
    registered: bool = True
    withheld: bool = False


@dataclass(frozen=True)
class Knobs:
    """The part of the configuration that the rules depend on."""

    opening: Decimal = Decimal(100)
    each_message: bool = False  # what is charged: each message, or a conversation (§1)
    price: Decimal | None = Decimal("0.05")  # None: a callable that returns `Model.going_rate`
    conversation_length: int = DAY
    drop_after: int = 30 * DAY
    origin: str = "marketing"
    conversation_type: str = "REGULAR"
    currency: str = "USD"
    fail_when_low: bool = False
    report_total: bool = False
    event_id_per_message: bool = False
    low_balance_code: str = "BALANCE_INSUFFICIENT"
    people: tuple[Person, ...] = (Person(),)


@dataclass
class Conversation:
    label: Label | str  # a hex id of the user's own, or a label
    address: str | None
    origin: str
    started: int | None = None
    expires: int | None = None
    used: int = 0

    def over(self, now: int) -> bool:
        """The session is [start, start + 24 h): over at the instant itself (§8; assumed)."""
        return self.expires is not None and now >= self.expires


@dataclass
class Message:
    label: Label
    address: str | None
    type: str
    content: dict[str, Any]
    created: int
    asked_price: Decimal | None
    asked_origin: str | None
    asked_conversation: Label | str | None
    apart: bool = False  # submitted in one call, accepted or rejected in another
    status: str = "submitted"
    dropped: bool = False
    sent: int | None = None
    delivered: int | None = None
    read: int | None = None
    conversation: Conversation | None = None
    sent_into_running: bool = False
    own_price: Decimal = ZERO
    total: Decimal = ZERO
    held: Decimal = ZERO
    charged: Decimal = ZERO
    devices: int = 0
    undeliverable: bool = False  # sent while blocked or withheld
    order: int = 0  # when its drop was scheduled, among all that is scheduled
    error: tuple[str, str, Any] | None = None
    events: list[str] = field(default_factory=list)  # their statuses

    @property
    def state(self) -> str:
        return "dropped" if self.dropped else self.status


@dataclass(eq=False)
class ScheduledVerb:
    """A verb that a script in time does later."""

    at: int
    order: int
    message: Message
    verb: str
    arguments: dict[str, Any]
    error: tuple[str, Any, Any] | None = None


@dataclass(frozen=True)
class Entry:
    kind: str
    amount: Decimal | Fraction
    at: int
    message: Label | None = None
    conversation: Label | str | None = None


@dataclass(frozen=True)
class Event:
    status: str | None  # None: of another type, and about no message
    message: Label | None
    at: int
    body: dict[str, Any]
    type: str = "chat.message.updated"
