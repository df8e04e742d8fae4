"""The ledger and the balance of a fake as plain values, for tests that compare them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake


def ledger_entries(fake: ChatFake, since: int = 1) -> list[tuple[str, Decimal]]:
    """The ledger after the opening entry: kind and amount."""
    return [(entry.kind, entry.amount) for entry in fake.ledger[since:]]


def balances(fake: ChatFake) -> tuple[Decimal, Decimal, Decimal]:
    """Available, held and charged."""
    return fake.balance.available, fake.balance.held, fake.balance.charged


def decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))
