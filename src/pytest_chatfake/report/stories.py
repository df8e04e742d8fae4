"""What happened to a message, or in a whole fake, in order, as text."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..wire.exact_json import number
from .tables import table


class _Row(NamedTuple):
    """A line of a story; sorted by its moment, then by the event it belongs to, then by kind."""

    moment: int
    event: int
    kind: int
    what: str
    details: str


def message_story(engine: Engine, message: MessageState) -> str:
    """Tell all that is known of a message: status, money, and what happened, in order."""
    status = "sent (dropped)" if message.state == "dropped" else message.state
    rows = sorted(
        [*_money(engine, message), *_events(engine, message), *_attempts(engine, message)]
    )
    return "\n".join(
        [
            f"message {message.id} to {message.recipient}: {status}",
            "  " + _amounts("price", message.total_price, message.held, message.charged),
            f"  {_conversation(message)}",
            table((stamp(row.moment), row.what, row.details) for row in rows),
        ]
    )


def fake_story(engine: Engine) -> str:
    """Tell what happened in the whole fake: its balance, and its events and attempts in order."""
    ledger = engine.account.ledger
    rows = [
        (
            event.moment,
            0,
            "event",
            event.status or event.type,
            event.message_id or "",
            f"caused at {event.line}",
        )
        for event in engine.outbox.events
    ]
    rows += [
        (one.moment, 1, "attempt", one.event.status or one.event.type, one.event.message_id or "",
         f"{one.endpoint._shown}: {one.outcome}")
        for one in engine.outbox.attempts
    ]  # fmt: skip
    rows.sort(key=lambda row: row[:2])
    return "\n".join(
        [
            _amounts("available", ledger.available, ledger.held, ledger.charged),
            *(
                []
                if engine.outbox.endpoints
                else ["no endpoint is connected: nothing is attempted"]
            ),
            table((stamp(moment), *texts) for moment, _, *texts in rows),
        ]
    )


def _amounts(what: str, amount: Decimal, held: Decimal, charged: Decimal) -> str:
    return f"{what} {number(amount)}, held {number(held)}, charged {number(charged)}"


def _conversation(message: MessageState) -> str:
    conversation = message.conversation
    if conversation is None:
        return "no conversation: it failed before it was sent"
    if conversation.expires_at is None:
        return f"conversation {conversation.id}: pending"
    return f"conversation {conversation.id}: session until {stamp(conversation.expires_at)}"


def _money(engine: Engine, message: MessageState) -> Iterable[_Row]:
    for entry in engine.account.ledger.entries:
        if entry.message_id == message.id:
            event = 0 if entry.kind == "hold" else 1  # what follows sent moves the rest
            kind = 1 if entry.kind == "charge" else 0  # a charge follows its release
            yield _Row(entry.moment, event, kind, entry.kind, number(entry.amount))
    if message.dropped_at is not None:
        yield _Row(message.dropped_at, 1, 2, "dropped", "undelivered for too long; no event")


def _events(engine: Engine, message: MessageState) -> Iterable[_Row]:
    for index, event in enumerate(engine.outbox.events_of(message.number)):
        caused = f"{event.id}, caused at {event.line}"
        yield _Row(event.moment, index, 3, f"event {event.status}", caused)


def _attempts(engine: Engine, message: MessageState) -> Iterable[_Row]:
    indexes = {event: i for i, event in enumerate(engine.outbox.events_of(message.number))}
    for attempt in engine.outbox.attempts:
        if (index := indexes.get(attempt.event)) is not None:
            fault = f" ({attempt.fault})" if attempt.fault else ""
            what = f"attempt {attempt.number} at {attempt.event.status}{fault}"
            yield _Row(
                attempt.moment, index, 4, what, f"{attempt.endpoint._shown}: {attempt.outcome}"
            )
