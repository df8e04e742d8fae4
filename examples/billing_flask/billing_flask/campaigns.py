"""Campaigns: make one, send its messages, see what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, request

from . import db, service, spend, values

if TYPE_CHECKING:
    import sqlite3

blueprint = Blueprint("campaigns", __name__)


@blueprint.post("/campaigns")
def create() -> tuple[dict[str, Any], int]:
    """Make a campaign from its ``name``."""
    name = _text("name")
    with db.transaction() as connection:
        campaign_id = connection.execute(
            "INSERT INTO campaigns (name, created_at) VALUES (?, ?)",
            (name, values.time_text(values.now())),
        ).lastrowid
    return {"id": campaign_id, "name": name}, 201


@blueprint.post("/campaigns/<int:campaign_id>/messages")
def send(
    campaign_id: int,
) -> tuple[dict[str, str], int] | tuple[dict[str, str], int, dict[str, str]]:
    """Send the text ``body`` to the number ``to``."""
    _require_campaign(campaign_id)
    to, body = _text("to"), _text("body")
    try:
        message_id = service.send_text(to, body)
    except service.RateLimitError as error:
        wait = max(1, round((error.retry_at - values.now()).total_seconds()))
        return {"error": str(error)}, 503, {"Retry-After": str(wait)}
    except service.ServiceError as error:
        abort(502, f"not sent: {error}")
    # A webhook may have been faster and made the row already: its status stays.
    with db.transaction() as connection:
        connection.execute(
            "INSERT INTO messages (id, campaign_id, recipient) VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE"
            " SET campaign_id = excluded.campaign_id, recipient = excluded.recipient",
            (message_id, campaign_id, to),
        )
    return {"id": message_id}, 202


@blueprint.get("/campaigns/<int:campaign_id>/spend")
def show_spend(campaign_id: int) -> dict[str, Any]:
    """Show what the campaign cost, and how many messages are in which state."""
    _require_campaign(campaign_id)
    try:
        figures = spend.of_campaign(campaign_id)
    except spend.CurrencyError as error:
        abort(409, f"the campaign's prices are in {error}")
    return {
        "charged": values.money_text(figures.charged),
        "reserved": values.money_text(figures.reserved),
        "currency": figures.currency,
        "messages": figures.messages,
    }


@blueprint.get("/messages/<message_id>")
def show_message(message_id: str) -> dict[str, Any]:
    """Show what we know about a message, by the service's id of it."""
    row = (
        db.connection()
        .execute(
            "SELECT messages.*, conversations.expires_at, conversations.started FROM messages"
            " LEFT JOIN conversations ON conversations.id = messages.conversation_id"
            " WHERE messages.id = ?",
            (message_id,),
        )
        .fetchone()
    )
    if row is None:
        abort(404, "no such message")
    return {
        "id": row["id"],
        "campaign": row["campaign_id"],
        "status": row["status"],
        "price": row["price"],
        "currency": row["currency"],
        "conversation": _conversation(row),
        "sentAt": row["sent_at"],
        "deliveredAt": row["delivered_at"],
        "readAt": row["read_at"],
        "error": {"code": row["error_code"], "message": row["error_message"]}
        if row["error_code"]
        else None,
    }


def _conversation(row: sqlite3.Row) -> dict[str, Any] | None:
    if row["conversation_id"] is None:
        return None
    started = bool(row["started"])
    return {
        "id": row["conversation_id"],
        # What we send into an open conversation costs nothing more.
        "open": started and values.now() < values.time(row["expires_at"]),
        "expiresAt": row["expires_at"] if started else None,
    }


def _require_campaign(campaign_id: int) -> None:
    found = db.connection().execute("SELECT 1 FROM campaigns WHERE id = ?", (campaign_id,))
    if found.fetchone() is None:
        abort(404, "no such campaign")


def _text(field: str) -> str:
    payload = request.get_json(silent=True)
    value = payload.get(field) if isinstance(payload, dict) else None
    if not isinstance(value, str) or not value.strip():
        abort(400, f"{field} is missing")
    return value
