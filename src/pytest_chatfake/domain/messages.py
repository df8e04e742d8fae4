"""Messages: their states, and the table of legal verbs (§3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from ..base.errors import IllegalTransition
from .conversations import ConversationState
from .failure_codes import Failure
from .ids import Ids
from .money import ZERO

#: Four of these are the statuses of §3. ``submitted`` comes before them, and a ``dropped`` message
#: stays ``sent`` for users of the service (§3 rules 5 and 6).
State: TypeAlias = Literal["submitted", "sent", "delivered", "read", "failed", "dropped"]
Transition: TypeAlias = Literal["accept", "reject", "deliver", "read", "fail", "drop"]

#: §3, row by row: in this state, this verb leads to that state. Everything else is refused.
TRANSITIONS: Final[Mapping[State, Mapping[Transition, State]]] = {
    "submitted": {"accept": "sent", "reject": "failed"},
    "sent": {"deliver": "delivered", "read": "read", "fail": "failed", "drop": "dropped"},
    "delivered": {"deliver": "delivered", "read": "read"},
    "read": {},
    "failed": {},
    "dropped": {},
}

#: The default recipient (assumed).
DEFAULT_ADDRESS: Final = "+15550100"

#: The default price of a message (assumed).
DEFAULT_PRICE: Final = "0.05"

#: The maximum number of devices in one delivery (assumed).
MAX_DEVICES: Final = 10_000

#: The statuses that an event can show (§2.3).
STATUSES: Final = ("sent", "delivered", "read", "failed")


@dataclass(slots=True, eq=False)
class MessageState:
    """The state of one message.

    Attributes:
        body: The text; empty for other types.
        recipient: The address that the message goes to.
        extra: Extra fields for the message resource of its events, as JSON text.
        number: 1 for the account's first message; 0 before the message has a number.
        id: The service's identifier; empty before the message has one.
        type: ``text``, or another type (§2.3).
        content: The object or list under the type's key, as JSON text; None for a plain text.
        sender: The sender's address; None: the account's.
        undeliverable: Whether it never arrives by itself, because the recipient blocked the sender,
            or was withheld, when it was sent (§3 rule 2).
        script: Its pending scheduled verbs: whether each is an arrival, by its key in the schedule;
            None if it has no script.
        conversation: The conversation; None if the message failed before it was sent.
        price: What it costs if it is charged; None before it is accepted.
        state: The state.
        total_price: The estimate while it is sent, then the final price (§2.3).
        held: The amount held for it now.
        charged: The amount charged for it.
        delivered_devices: How many devices have reported a delivery.
        has_started_session: Whether its delivery started the conversation's session.
        account: The account that it was submitted or sent to; None before that.
        created_at: When it was submitted, in nanoseconds since the epoch, like all moments here.
        sent_at: When it was accepted and sent.
        delivered_at: When it first reached a device.
        read_at: When the service learned that it was read.
        drop: The schedule's key of its drop, while that is pending.
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
    script: dict[int, bool] | None = None
    conversation: ConversationState | None = None
    price: Decimal | None = None
    state: State = "submitted"
    total_price: Decimal = ZERO
    held: Decimal = ZERO
    charged: Decimal = ZERO
    delivered_devices: int = 0
    has_started_session: bool = False
    account: object | None = None
    created_at: int | None = None
    sent_at: int | None = None
    delivered_at: int | None = None
    read_at: int | None = None
    drop: int | None = None
    failure: Failure | None = None

    def name(self, number: int, ids: Ids) -> None:
        """Assign a number and ids: a proposal, until the message is known."""
        self.number = number
        self.id = ids.message % number
        self._original = ids.original

    def withdraw(self) -> None:
        """Take back the proposed ids, conversation and price."""
        self.number = 0
        self.id = ""
        self.conversation = None
        self.price = None

    @property
    def chat_message_id(self) -> str:
        """The platform's identifier, ``wamid....`` (§2.3), computed from the number."""
        return self._original % self.number if self.number else ""

    @property
    def is_known(self) -> bool:
        """Whether the service has accepted or rejected it."""
        return self.state != "submitted"


def state_after(message: MessageState, verb: Transition) -> State:
    """Return the state that a verb leads to.

    Raises:
        IllegalTransition: §3 does not allow the verb in the message's state.
    """
    legal = TRANSITIONS[message.state]
    if verb not in legal:
        possible = ", ".join(f"{other}()" for other in legal if other != "drop")
        hint = f" Possible: {possible}." if possible else f" {_ANYWAY}"
        subject = f"message {message.id}" if message.id else "a submission"
        raise IllegalTransition(f"can't {verb} {subject}: {_REASON[message.state]} (§3).{hint}")
    return legal[verb]


_ANYWAY: Final = "For a late or repeated event, use webhooks.redeliver() or webhooks.emit()."

_REASON: Final[Mapping[State, str]] = {
    "submitted": "it was submitted, but is not accepted yet",
    "sent": "it was accepted and sent",
    "delivered": "it was delivered: it has reached a device",
    "read": "it was read, which is final",
    "failed": "it has failed, which is final",
    "dropped": "it was not delivered in time and was dropped, which is final",
}
