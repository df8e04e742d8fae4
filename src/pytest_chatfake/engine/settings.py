"""What the engine needs of a configuration, in the engine's own units."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from ..domain.account import Rules
from ..wire.naming import Naming

#: Who waits for attempts: the verb, or the ``await`` in front of it.
Mode: TypeAlias = Literal["sync", "async"]


class Settings(NamedTuple):
    """The knobs of one fake.

    Attributes:
        mode: Who waits for attempts: the verb (sync) or the ``await`` (async).
        seed: What identifiers are derived from.
        rules: The knobs of the rules.
        opening_balance: What the account begins with.
        currency: The three-letter code of every amount.
        balance_amount: What the balance query reports.
        conversation_type: The ``type`` of conversations.
        sender: The address that messages come from.
        naming: The names that hide the channel's brand.
        event_ids: Whether each event has an id of its own.
        timeout: How long an attempt may take, in real seconds.
    """

    mode: Mode
    seed: str
    rules: Rules
    opening_balance: Decimal
    currency: str
    balance_amount: Literal["available", "total"]
    conversation_type: str
    sender: str
    naming: Naming
    event_ids: Literal["unique", "per-message"]
    timeout: float
