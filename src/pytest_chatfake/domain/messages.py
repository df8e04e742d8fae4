"""Messages: their states, the table of what may follow what, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from ..base.errors import IllegalTransition
from .conversations import ConversationRecord
from .failures import Failure
from .ids import Ids
from .money import ZERO

#: Where a message stands. Four of them are statuses of §3; ``submitted`` is what comes before the
#: first one, and ``dropped`` is a message that stays ``sent`` for good (§3 rules 5 and 6).
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

#: The person that messages go to where the test names nobody (assumed).
DEFAULT_ADDRESS: Final = "+15550100"

#: What a message costs where it is charged and nobody says so (assumed).
DEFAULT_PRICE: Final = "0.05"

#: To how many devices one delivery goes at most (assumed).
MAX_DEVICES: Final = 10_000

#: The statuses that an event can show (§2.3).
STATUSES: Final = ("sent", "delivered", "read", "failed")


class MessageState:
    """What the service knows of one message.

    Attributes:
        number: Its place among all messages of the account, from 1; 0 before it has one.
        id: The service's identifier; empty before it has one.
        type: What kind of message it is: ``text``, or another (§2.3).
        body: The text; empty for other types.
        content: The object or list under the type's key, as JSON text; None: ``body`` says it all.
        sender: The address it comes from; None: the account's.
        recipient: The address it goes to.
        undeliverable: Whether it was sent to a person who had blocked the sender, or was withheld:
            it never arrives by itself (§3 rule 2).
        script: Its scheduled verbs that are still pending, by the keys of the schedule; None: it
            never had one.
        extra: More fields for the message resource of its events, as JSON text.
        conversation: Its conversation; None if it failed before it was sent.
        price: What it costs where it is charged; None before that is asked for.
        state: Where it stands.
        total_price: The estimate while it is sent, then the final price (§2.3).
        held: What is held for it now.
        charged: What was charged for it.
        delivered_devices: How many deliveries were told, each on a device of its own.
        submitted_to: The account that it was submitted to; None: it is sent without that.
        created_at: When it was submitted, in nanoseconds since the epoch; the next four alike.
        sent_at: When it was accepted and sent.
        delivered_at: When it first reached a device.
        read_at: When the service learned that it was read.
        dropped_at: When it was dropped.
        drop: The key of its drop in the schedule, while it is pending.
        failure: Why it failed, if it did.
    """

    __slots__ = (
        "_original",
        "body",
        "charged",
        "content",
        "conversation",
        "created_at",
        "delivered_at",
        "delivered_devices",
        "drop",
        "dropped_at",
        "extra",
        "failure",
        "held",
        "id",
        "number",
        "price",
        "read_at",
        "recipient",
        "script",
        "sender",
        "sent_at",
        "state",
        "submitted_to",
        "total_price",
        "type",
        "undeliverable",
    )

    def __init__(self, body: str, recipient: str, extra: str) -> None:
        self.number: int = 0
        self.id: str = ""
        self._original = ""
        self.type: str = "text"
        self.body: str = body
        self.content: str | None = None
        self.sender: str | None = None
        self.recipient: str = recipient
        self.undeliverable: bool = False
        self.script: dict[int, str] | None = None
        self.extra: str = extra
        self.conversation: ConversationRecord | None = None
        self.price: Decimal | None = None
        self.state: State = "submitted"
        self.total_price: Decimal = ZERO
        self.held: Decimal = ZERO
        self.charged: Decimal = ZERO
        self.delivered_devices: int = 0
        self.submitted_to: object | None = None
        self.created_at: int | None = None
        self.sent_at: int | None = None
        self.delivered_at: int | None = None
        self.read_at: int | None = None
        self.dropped_at: int | None = None
        self.drop: int | None = None
        self.failure: Failure | None = None

    def name(self, number: int, ids: Ids) -> None:
        """Give it the identifiers of its place. Until it is known, that is a proposal."""
        self.number = number
        self.id = ids.message % number
        self._original = ids.original

    def withdraw(self) -> None:
        """Take the proposals back: it was not decided on after all."""
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


def next_state(message: MessageState, verb: MessageVerb) -> State:
    """Look up what ``verb`` makes of ``message``; refuse what §3 does not show."""
    state = message.state
    legal = TRANSITIONS[state]
    if verb not in legal:
        possible = ", ".join(f"{one}()" for one in legal if one != "drop")
        hint = f" Possible: {possible}." if possible else ""
        subject = f"message {message.id}" if message.id else "a submission"
        raise IllegalTransition(f"can't {verb} {subject}: {_REASON[state]} (§3).{hint}")
    return legal[verb]


_REASON: Final[Mapping[State, str]] = {
    "submitted": "it is not accepted yet",
    "sent": "it is accepted and sent",
    "delivered": "it has reached a device",
    "read": "it was read, and a read message is final",
    "failed": "it has failed, and a failed message is final",
    "dropped": "it was not delivered in time, and a dropped message is final",
}
