"""Message statuses, kept right whatever the order and number of the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import db, values

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    from .events import Conversation, StatusUpdate

REPLACES = {
    "sent": {"accepted"},
    "delivered": {"accepted", "sent"},
    "read": {"accepted", "sent", "delivered"},
    "failed": {"accepted", "sent"},
}
"""Which statuses an event may replace. Nothing goes back; read and failed are final."""


def record(update: StatusUpdate) -> str:
    """Store an update, once.

    Returns:
        ``applied``; ``duplicate`` (we have this very event), ``repeated`` (the message has this
        status, for example from another device) or ``late`` (it is further on): then the message
        is as it was.
    """
    with db.transaction() as connection:
        seen = (update.event_id, update.message_id, update.status)
        if connection.execute(
            "SELECT 1 FROM webhooks WHERE event_id = ? AND message_id = ? AND status = ?", seen
        ).fetchone():
            return "duplicate"
        outcome = _apply(connection, update)
        if update.conversation is not None:
            _keep_conversation(connection, update.conversation, started=update.status != "sent")
        connection.execute(
            "INSERT INTO webhooks (event_id, message_id, status, outcome, received_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (*seen, outcome, values.time_text(values.now())),
        )
    return outcome


def _apply(connection: sqlite3.Connection, update: StatusUpdate) -> str:
    # The send call's answer may not be stored yet: then the event makes the row, and the answer
    # adds the campaign to it.
    connection.execute(
        "INSERT INTO messages (id) VALUES (?) ON CONFLICT DO NOTHING", (update.message_id,)
    )
    row = connection.execute(
        "SELECT status FROM messages WHERE id = ?", (update.message_id,)
    ).fetchone()
    if row["status"] == update.status:
        return "repeated"
    if row["status"] not in REPLACES[update.status]:
        return "late"
    connection.execute(
        "UPDATE messages SET status = :status, price = :price, currency = :currency,"
        " conversation_id = coalesce(:conversation_id, conversation_id),"
        " sent_at = coalesce(:sent_at, sent_at), delivered_at = :delivered_at,"
        " read_at = :read_at, error_code = :error_code, error_message = :error_message"
        " WHERE id = :id",
        {
            "id": update.message_id,
            "status": update.status,
            "price": values.money_text(update.price),
            "currency": update.currency,
            "conversation_id": update.conversation.id if update.conversation else None,
            "sent_at": _text(update.sent_at),
            "delivered_at": _text(update.delivered_at),
            "read_at": _text(update.read_at),
            "error_code": update.error_code,
            "error_message": update.error_message,
        },
    )
    return "applied"


def _keep_conversation(
    connection: sqlite3.Connection, conversation: Conversation, *, started: bool
) -> None:
    # The expiry in a `sent` event is an estimate: it never replaces that of a started session.
    connection.execute(
        "INSERT INTO conversations (id, expires_at, started) VALUES (?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE"
        " SET expires_at = excluded.expires_at, started = excluded.started"
        " WHERE excluded.started >= conversations.started",
        (conversation.id, values.time_text(conversation.expires_at), started),
    )


def _text(moment: datetime | None) -> str | None:
    return values.time_text(moment) if moment else None
