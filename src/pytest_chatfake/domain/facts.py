"""Verbs and facts, as data that is not changed once made.

A :class:`Verb` asks an account for a change. A :class:`Fact`, in the past tense, is a change that
the account decided: one fact feeds the ledger and the webhook, so they cannot disagree. Both are
plain classes with slots: Python makes and reads them fastest, and every event needs one of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from .conversations import ConversationRecord
from .failure_codes import Failure
from .ledger import LedgerEntry
from .messages import MessageState
from .reasons import Rule

#: The four statuses of §3, each with its event, and the drop, which has none (§3 rule 6).
Happening: TypeAlias = Literal["sent", "delivered", "read", "failed", "dropped"]


@dataclass(slots=True)
class Verb:
    """Something to do, as data.

    Attributes:
        name: What to do: ``deliver``, for example.
        message: The message that it is about; None: it is about the account.
        arguments: What else was given.
    """

    name: str
    message: MessageState | None = None
    arguments: tuple[Any, ...] = ()


class Draft(NamedTuple):
    """The arguments of a send call that are used when the message is accepted.

    Attributes:
        conversation: A conversation that exists, the id of one, or None: the service finds it.
        origin_type: None: the conversation's, or the default.
        price: What it costs where it is charged: an amount, or a function that is asked when the
            message is accepted.
        assumed: Whether the test named no price: it is the fake's default.
    """

    conversation: ConversationRecord | str | None
    origin_type: str | None
    price: Decimal | Callable[[MessageState], Decimal]
    assumed: bool


@dataclass(slots=True)
class Fact:
    """Something that happened to a message.

    Attributes:
        what: What happened.
        message: To which message. Its fields change when the fact is applied.
        at: When, in nanoseconds since the epoch.
        rule: The rule that it rests on.
        total_price: What the message costs from now on (§2.3).
        conversation: Its conversation; None if it failed.
        expires_at: When the conversation's session is over, or is estimated to be (§2.4).
        entries: The entries that the ledger takes for it, and nothing else.
        failure: Why the message failed, if it did.
    """

    what: Happening
    message: MessageState
    at: int
    rule: Rule
    total_price: Decimal
    conversation: ConversationRecord | None = None
    expires_at: int | None = None
    entries: tuple[LedgerEntry, ...] = ()
    failure: Failure | None = None
