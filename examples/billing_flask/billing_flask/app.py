"""The application factory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Flask
from werkzeug.exceptions import HTTPException

from . import alerts, campaigns, db, reminders, webhooks

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: dict[str, Any] = {
    "DATABASE": "billing.sqlite3",
    "DATABASE_SYNC": True,  # wait for the disk at each commit; in tests nobody pulls the plug
    "LOW_BALANCE": "10",
    "MESSAGING_API_KEY": "",
    "MESSAGING_BASE_URL": "",
    "MESSAGING_TIMEOUT": 2.0,
    "WEBHOOK_SECRET": None,
    "MAX_CONTENT_LENGTH": 256 * 1024,
}


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Build the app.

    Args:
        config: Settings that win over the environment (``BILLING_MESSAGING_API_KEY`` and so on),
            which wins over ``DEFAULTS``.
    """
    app = Flask(__name__)
    app.config.from_mapping(DEFAULTS)
    # Values stay text: "0.10" must not pass through float on its way to a Decimal.
    app.config.from_prefixed_env("BILLING", loads=str)
    app.config.from_mapping(config or {})

    db.init_app(app)
    app.register_blueprint(webhooks.blueprint)
    app.register_blueprint(campaigns.blueprint)
    app.register_blueprint(alerts.blueprint)
    app.register_blueprint(reminders.blueprint)
    app.register_error_handler(HTTPException, _error_as_json)
    return app


def _error_as_json(error: HTTPException) -> tuple[dict[str, str | None], int]:
    return {"error": error.description}, error.code or 500
