"""Messages: their states, and the table of legal verbs (§3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from ..base.errors import IllegalTransition
from .conversations import ConversationRecord
from .failure_codes import Failure
from .ids import Ids
from .money import ZERO

#: The state of a message. Four of them are statuses of §3; ``submitted`` comes before the first
#: one, and ``dropped`` is a message that stays ``sent`` for good (§3 rules 5 and 6).
State: TypeAlias = Literal["submitted", "sent", "delivered", "read", "failed", "dropped"]
MessageVerb: TypeAlias = Literal["accept", "reject", "deliver", "read", "fail", "drop"]

#: §3, row by row: in this state, this verb leads to that state. What is not here is refused.
TRANSITIONS: Final[Mapping[State, Mapping[MessageVerb, State]]] = {
    "submitted": {"accept": "sent", "reject": "failed"},
    "sent": {"deliver": "delivered", "read": "read", "fail": "failed", "drop": "dropped"},
    "delivered": {"deliver": "delivered", "read": "read"},
    "read": {},
    "failed": {},
    "dropped": {},
}

#: The verbs of a person's phone: they bring a message to it, or show it there.
ARRIVALS: Final[frozenset[str]] = frozenset({"deliver", "read"})

#: The recipient of messages for which the test names none (assumed).
DEFAULT_ADDRESS: Final = "+15550100"

#: The price of a message for which the test names none (assumed).
DEFAULT_PRICE: Final = "0.05"

#: The most devices of one delivery (assumed).
MAX_DEVICES: Final = 10_000

#: The statuses that an event can show (§2.3).
STATUSES: Final = ("sent", "delivered", "read", "failed")


@dataclass(slots=True, eq=False)
class MessageState:
    """The state of one message.

    Attributes:
        body: The text; empty for other types.
        recipient: The address it goes to.
        extra: More fields for the message resource of its events, as JSON text.
        number: Its ordinal among all messages of the account, from 1; 0 before it has one.
        id: The service's identifier; empty before it has one.
        type: What kind of message it is: ``text``, or another (§2.3).
        content: The object or list under the type's key, as JSON text; None: ``body`` says it all.
        sender: The address it comes from; None: the account's.
        undeliverable: Whether it was sent to a person who had blocked the sender, or was withheld:
            it never arrives by itself (§3 rule 2).
        script: Its scheduled verbs that are still pending, by the keys of the schedule; None: it
            never had one.
        conversation: Its conversation; None if it failed before it was sent.
        price: What it costs where it is charged; None before that is asked for.
        state: Its state.
        total_price: The estimate while it is sent, then the final price (§2.3).
        held: What is held for it now.
        charged: What was charged for it.
        delivered_devices: How many deliveries were reported, each of a device of its own.
        is_early: Whether the first one came before the test asked for it: the next one that it asks
            for has come already.
        submitted_to: The account that it was submitted to; None: it is sent without that.
        created_at: When it was submitted, in nanoseconds since the epoch; the next three alike.
        sent_at: When it was accepted and sent.
        delivered_at: When it first reached a device.
        read_at: When the service learned that it was read.
        drop: The key of its drop in the schedule, while it is pending.
        failure: Why it failed, if it did.
    """

    body: str
    recipient: str
    extra: str
    number: int = 0
    id: str = ""
    _original: str = ""
    type: str = "text"
    content: str | None = None
    sender: str | None = None
    undeliverable: bool = False
    script: dict[int, str] | None = None
    conversation: ConversationRecord | None = None
    price: Decimal | None = None
    state: State = "submitted"
    total_price: Decimal = ZERO
    held: Decimal = ZERO
    charged: Decimal = ZERO
    delivered_devices: int = 0
    is_early: bool = False
    submitted_to: object | None = None
    created_at: int | None = None
    sent_at: int | None = None
    delivered_at: int | None = None
    read_at: int | None = None
    drop: int | None = None
    failure: Failure | None = None

    def name(self, number: int, ids: Ids) -> None:
        """Give it the identifiers of its number: a proposal, until it is known."""
        self.number = number
        self.id = ids.message % number
        self._original = ids.original

    def withdraw(self) -> None:
        """Take back what was proposed: identifiers, conversation and price."""
        self.number = 0
        self.id = ""
        self.conversation = None
        self.price = None

    @property
    def chat_message_id(self) -> str:
        """The platform's identifier (``wamid.`` before it, §2.3); it is derived, and not kept."""
        return self._original % self.number if self.number else ""

    @property
    def is_known(self) -> bool:
        """Whether the service has accepted or rejected it."""
        return self.state != "submitted"


def check_legal(message: MessageState, verb: MessageVerb) -> None:
    """Refuse a verb that §3 does not show for the state of a message."""
    legal = TRANSITIONS[message.state]
    if verb not in legal:
        possible = ", ".join(f"{other}()" for other in legal if other != "drop")
        hint = f" Possible: {possible}." if possible else ""
        subject = f"message {message.id}" if message.id else "a submission"
        raise IllegalTransition(f"can't {verb} {subject}: {_REASON[message.state]} (§3).{hint}")


_REASON: Final[Mapping[State, str]] = {
    "submitted": "it is submitted, and not accepted yet",
    "sent": "it is accepted and sent",
    "delivered": "it is delivered: it has reached a device",
    "read": "it was read, and a read message is final",
    "failed": "it has failed, and a failed message is final",
    "dropped": "it was not delivered in time, and a dropped message is final",
}
