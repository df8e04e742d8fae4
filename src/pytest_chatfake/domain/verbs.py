"""The verbs about a message: what a test asks for, and what scripts and people do by themselves.

A verb is immutable data. The account decides it, which changes nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from .conversations import ConversationState
from .failure_codes import Failure
from .messages import MessageState


class Draft(NamedTuple):
    """The arguments of a send call that only matter once the message is accepted.

    Attributes:
        conversation: A conversation, a conversation's id, or None to let the service find one.
        origin_type: The origin type; None: the conversation's, or the default.
        price: What the message costs if it is charged: an amount, or a function that is called when
            the message is accepted.
        assumed: Whether the price is the fake's default, because the test gave none.
    """

    conversation: ConversationState | str | None
    origin_type: str | None
    price: Decimal | Callable[[MessageState], Decimal]
    assumed: bool


@dataclass(frozen=True, slots=True)
class Accept:
    """The service accepts a submission, and sends it (§3)."""

    message: MessageState
    draft: Draft


@dataclass(frozen=True, slots=True)
class Reject:
    """The service refuses a submission (§3 rule 4)."""

    message: MessageState
    failure: Failure


@dataclass(frozen=True, slots=True)
class Deliver:
    """The message reaches devices (§3).

    Attributes:
        message: The message.
        devices: How many more; None: all that don't have it yet.
        price: The final price, which only matters if this delivery is charged.
    """

    message: MessageState
    devices: int | None = None
    price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Arrive:
    """The message reaches a person who can be reached again (§3 rule 2)."""

    message: MessageState


@dataclass(frozen=True, slots=True)
class Read:
    """The recipient reads the message (§3)."""

    message: MessageState


@dataclass(frozen=True, slots=True)
class Fail:
    """The message fails after it was sent (§3)."""

    message: MessageState
    failure: Failure


MessageVerb: TypeAlias = Accept | Reject | Deliver | Arrive | Read | Fail

#: The phone's verbs that a test calls: a message arrives, or is shown.
PHONE_VERBS: Final = (Deliver, Read)
