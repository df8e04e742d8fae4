"""Facts: what the account has decided that a verb changes.

One fact feeds both the ledger and the webhook, so they can't disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from .conversations import ConversationState
from .failure_codes import Failure
from .ledger import LedgerEntry
from .messages import MessageState, State
from .reasons import Rule


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
    conversation: ConversationState | None = None
    expires_at: int | None = None
    entries: tuple[LedgerEntry, ...] = ()
    failure: Failure | None = None
