"""What a campaign has cost, may still cost, and reached."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from . import db, values

if TYPE_CHECKING:
    import sqlite3

DROPPED_AFTER = timedelta(days=30)
"""The service gives up on a message that is `sent` for so long, and says nothing."""

MESSAGES = ("accepted", "sent", "delivered", "read", "failed", "dropped")


@dataclass(frozen=True, slots=True)
class Spend:
    """A campaign's figures.

    Attributes:
        charged: Final prices, one for each conversation that the campaign started.
        reserved: Estimated prices of messages that are still on their way.
        currency: Of both, or None before the first event.
        messages: How many messages are in each of `MESSAGES` now.
    """

    charged: Decimal
    reserved: Decimal
    currency: str | None
    messages: dict[str, int]


class CurrencyError(Exception):
    """A campaign's prices can't be added up."""


def of_campaign(campaign_id: int) -> Spend:
    """Add up a campaign.

    Raises:
        CurrencyError: Its prices are in more than one currency.
    """
    own = (
        db.connection()
        .execute("SELECT * FROM messages WHERE campaign_id = ?", (campaign_id,))
        .fetchall()
    )
    currencies = {row["currency"] for row in own if row["currency"] is not None}
    if len(currencies) > 1:
        raise CurrencyError(" and ".join(sorted(currencies)))
    states = [_state(row) for row in own]
    counted = Counter(states)
    return Spend(
        charged=values.total(
            Decimal(row["price"])
            for row in _charged_messages(campaign_id)
            if row["campaign_id"] == campaign_id
        ),
        reserved=values.total(
            Decimal(row["price"]) for row, state in zip(own, states, strict=True) if state == "sent"
        ),
        currency=currencies.pop() if currencies else None,
        messages={state: counted[state] for state in MESSAGES},
    )


def _charged_messages(campaign_id: int) -> list[sqlite3.Row]:
    """Return the message that was charged of each conversation the campaign takes part in.

    A conversation is charged for the first of its messages that is delivered, which may belong to
    another campaign; the rest are free. First is what was delivered first, not what we heard first.
    """
    delivered = (
        db.connection()
        .execute(
            "SELECT * FROM messages WHERE status IN ('delivered', 'read') AND conversation_id IN"
            " (SELECT conversation_id FROM messages WHERE campaign_id = ?)"
            " ORDER BY delivered_at, rowid",
            (campaign_id,),
        )
        .fetchall()
    )
    charged: dict[str, sqlite3.Row] = {}
    for row in delivered:
        if Decimal(row["price"]) != 0:
            charged.setdefault(row["conversation_id"], row)
    return list(charged.values())


def _state(row: sqlite3.Row) -> str:
    status: str = row["status"]
    if status == "sent" and values.time(row["sent_at"]) + DROPPED_AFTER <= values.now():
        return "dropped"
    return status
