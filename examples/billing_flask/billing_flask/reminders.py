"""Say something before a conversation is over, once: what we send into it until then is free."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click
from flask import Blueprint, current_app

from . import db, service, values

if TYPE_CHECKING:
    import sqlite3

blueprint = Blueprint("reminders", __name__, cli_group=None)

REMIND_BEFORE = timedelta(hours=1)
"""How long before the end of a conversation its reminder is due."""

TEXT = "Any questions left? This chat closes soon."


def send_due() -> int:
    """Send the reminders that are due now, and return how many were sent.

    Only people whom a message has reached are reminded: nobody else has an open conversation. A
    reminder that the service refuses is tried again the next time.
    """
    sent = 0
    for row in _due():
        try:
            message_id = service.send_text(row["recipient"], TEXT)
        except service.ServiceError as error:
            current_app.logger.warning("no reminder for %s: %s", row["recipient"], error)
            continue
        with db.transaction() as connection:
            connection.execute(
                "INSERT INTO messages (id, campaign_id, recipient) VALUES (?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE"
                " SET campaign_id = excluded.campaign_id, recipient = excluded.recipient",
                (message_id, row["campaign_id"], row["recipient"]),
            )
            connection.execute(
                "UPDATE conversations SET reminded_at = ? WHERE id = ?",
                (values.time_text(values.now()), row["conversation_id"]),
            )
        sent += 1
    return sent


def _due() -> list[sqlite3.Row]:
    now = values.now()
    return (
        db.connection()
        .execute(
            "SELECT conversations.id AS conversation_id, messages.recipient, messages.campaign_id"
            " FROM conversations JOIN messages ON messages.conversation_id = conversations.id"
            " WHERE started AND reminded_at IS NULL AND messages.recipient IS NOT NULL"
            " AND expires_at > ? AND expires_at <= ?"
            " GROUP BY conversations.id ORDER BY expires_at",
            (values.time_text(now), values.time_text(now + REMIND_BEFORE)),
        )
        .fetchall()
    )


@blueprint.cli.command("remind")
def remind() -> None:
    """Send the reminders that are due now; for cron."""
    click.echo(f"reminded: {send_due()}")
