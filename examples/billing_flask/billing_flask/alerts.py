"""Tell somebody before the money runs out, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from flask import Blueprint, current_app

from . import db, service, values

if TYPE_CHECKING:
    from datetime import datetime

blueprint = Blueprint("alerts", __name__, cli_group=None)


@dataclass(frozen=True, slots=True)
class Check:
    """What a look at the balance brought."""

    balance: service.Balance | None = None
    alert: str | None = None
    skipped: str | None = None


def check() -> Check:
    """Read the balance, and store an alert if it crossed the threshold.

    Below ``LOW_BALANCE`` there is one ``low`` alert until one ``recovered`` above it. A balance
    that can't be read is noted, and never an error: a webhook must not fail for it.
    """
    threshold = values.money(current_app.config["LOW_BALANCE"])
    waiting = _asked_to_wait()
    if waiting is not None:
        return Check(skipped=waiting)
    try:
        balance = service.balance()
    except service.RateLimitError as error:
        return _skip(error, error.retry_at)
    except service.ServiceError as error:
        return _skip(error)

    with db.transaction() as connection:
        last = connection.execute("SELECT kind FROM alerts ORDER BY id DESC LIMIT 1").fetchone()
        warned = last is not None and last["kind"] == "low"
        alert = None
        if balance.available < threshold and not warned:
            alert = "low"
        elif balance.available > threshold and warned:
            alert = "recovered"
        if alert is not None:
            connection.execute(
                "INSERT INTO alerts (kind, available, currency, created_at) VALUES (?, ?, ?, ?)",
                (
                    alert,
                    values.money_text(balance.available),
                    balance.currency,
                    values.time_text(values.now()),
                ),
            )
    return Check(balance, alert)


def _asked_to_wait() -> str | None:
    row = (
        db.connection()
        .execute(
            "SELECT reason FROM skipped_checks WHERE retry_at > ? ORDER BY id DESC LIMIT 1",
            (values.time_text(values.now()),),
        )
        .fetchone()
    )
    return row["reason"] if row else None


def _skip(error: service.ServiceError, retry_at: datetime | None = None) -> Check:
    current_app.logger.warning("the balance was not checked: %s", error)
    with db.transaction() as connection:
        connection.execute(
            "INSERT INTO skipped_checks (reason, retry_at, created_at) VALUES (?, ?, ?)",
            (
                str(error),
                values.time_text(retry_at) if retry_at else None,
                values.time_text(values.now()),
            ),
        )
    return Check(skipped=str(error))


@blueprint.get("/alerts")
def show() -> dict[str, Any]:
    """Show the alerts and the checks that were skipped, oldest first."""
    alerts = db.connection().execute("SELECT * FROM alerts ORDER BY id").fetchall()
    skipped = db.connection().execute("SELECT * FROM skipped_checks ORDER BY id").fetchall()
    return {
        "alerts": [
            {
                "kind": row["kind"],
                "available": row["available"],
                "currency": row["currency"],
                "createdAt": row["created_at"],
            }
            for row in alerts
        ],
        "skipped": [{"reason": row["reason"], "at": row["created_at"]} for row in skipped],
    }


@blueprint.cli.command("check-balance")
def check_balance() -> None:
    """Check the balance now; for cron, since no webhook tells of a top-up or a dropped message."""
    result = check()
    if result.balance is None:
        raise click.ClickException(f"skipped: {result.skipped}")
    click.echo(f"{values.money_text(result.balance.available)} {result.balance.currency}")
    if result.alert is not None:
        click.echo(f"alert: {result.alert}")
