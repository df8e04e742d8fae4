"""Verbs and facts: plain, immutable data.

A :class:`Verb` asks the account for a change. A :class:`Fact` is a change that the account has
decided. One fact feeds both the ledger and the webhook, so they can't disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from .conversations import ConversationRecord
from .failure_codes import Failure
from .ledger import LedgerEntry
from .messages import MessageState, State
from .reasons import Rule


@dataclass(slots=True)
class Verb:
    """A request for a change.

    Attributes:
        name: The name, such as ``deliver``.
        message: The message that it is about; None if it is about the account.
        arguments: Its other arguments, in the order in which the account takes them.
    """

    name: str
    message: MessageState | None = None
    arguments: tuple[Any, ...] = ()


class Draft(NamedTuple):
    """The arguments of a send call that only matter once the message is accepted.

    Attributes:
        conversation: A conversation, a conversation's id, or None to let the service find one.
        origin_type: The origin type; None: the conversation's, or the default.
        price: What the message costs if it is charged: an amount, or a function that is called when
            the message is accepted.
        assumed: Whether the price is the fake's default, because the test gave none.
    """

    conversation: ConversationRecord | str | None
    origin_type: str | None
    price: Decimal | Callable[[MessageState], Decimal]
    assumed: bool


@dataclass(slots=True)
class Fact:
    """Something that happened to a message.

    Attributes:
        what: What happened, which is the state that the message is in from then on. A drop has no
            event (§3 rule 6).
        message: The message. Its fields only change when the fact is applied.
        at: When it happened, in nanoseconds since the epoch.
        rule: The rule behind the fact.
        total_price: What the message costs from now on (§2.3).
        conversation: The message's conversation; None if it failed.
        expires_at: When the session ends, or is estimated to end (§2.4).
        entries: The fact's ledger entries.
        failure: Why the message failed, if it did.
    """

    what: State
    message: MessageState
    at: int
    rule: Rule
    total_price: Decimal
    conversation: ConversationRecord | None = None
    expires_at: int | None = None
    entries: tuple[LedgerEntry, ...] = ()
    failure: Failure | None = None
