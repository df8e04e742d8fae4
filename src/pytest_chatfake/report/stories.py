"""What happened, in order, as text: the evidence that a failed expectation shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..domain.instants import stamp
from ..wire.bodies import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from ..domain.ledger import LedgerEntry
    from ..domain.messages import MessageState
    from ..engine.engine import Engine

__all__ = ["events_table", "fake_story", "ledger_table", "message_story", "table"]

#: How many rows a failure shows before it cuts the middle out.
_MAX_ROWS = 30


class _Row(NamedTuple):
    """A line of a story; sorted by its moment, then by the event it belongs to, then by kind."""

    moment: int
    event: int
    kind: int
    what: str
    details: str


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Align rows in columns; a long table is cut in the middle, and says so."""
    lines = [tuple(row) for row in rows]
    if not lines:
        return f"{indent}(none)"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        indent
        + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if len(texts) > _MAX_ROWS:
        half = _MAX_ROWS // 2
        left_out = f"{indent}... {len(texts) - 2 * half} more ..."
        texts = [*texts[:half], left_out, *texts[-half:]]
    return "\n".join(texts)


def ledger_table(entries: Iterable[LedgerEntry]) -> str:
    """Write ledger entries, one a line: when, what, how much, for which message."""
    return table(
        (stamp(entry.moment), entry.kind, number(entry.amount), entry.message_id or "")
        for entry in entries
    )


def events_table(engine: Engine, message: MessageState) -> str:
    """Write the events of a message, one a line: when, status, id, and who caused it."""
    return table(
        (stamp(event.moment), event.status, event.id, f"at {event.line}")
        for event in engine.outbox.events_of(message.id)
    )


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
        (event.moment, 0, "event", event.status, event.message_id, f"caused at {event.line}")
        for event in engine.outbox.events
    ]
    rows += [
        (one.moment, 1, "attempt", one.event.status, one.event.message_id,
         f"{one.endpoint.name}: {one.outcome}")
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
    for index, event in enumerate(engine.outbox.events_of(message.id)):
        caused = f"{event.id}, caused at {event.line}"
        yield _Row(event.moment, index, 3, f"event {event.status}", caused)


def _attempts(engine: Engine, message: MessageState) -> Iterable[_Row]:
    indexes = {event: i for i, event in enumerate(engine.outbox.events_of(message.id))}
    for attempt in engine.outbox.attempts:
        if (index := indexes.get(attempt.event)) is not None:
            fault = f" ({attempt.fault})" if attempt.fault else ""
            what = f"attempt {attempt.number} at {attempt.event.status}{fault}"
            yield _Row(
                attempt.moment, index, 4, what, f"{attempt.endpoint.name}: {attempt.outcome}"
            )
