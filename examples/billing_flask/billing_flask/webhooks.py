"""The address that the messaging service posts to."""

from __future__ import annotations

from flask import Blueprint, abort, current_app, request

from . import alerts, events, signatures, statuses

blueprint = Blueprint("webhooks", __name__)


@blueprint.post("/hooks/chat")
def receive() -> tuple[str, int]:
    """Store one event. Whatever is answered but 2xx makes the service send it again."""
    body = request.get_data()
    secret = current_app.config["WEBHOOK_SECRET"]
    if secret and not signatures.is_genuine(request.headers.get("X-Signature"), body, secret):
        abort(401, "the signature is missing, wrong or too old")
    try:
        update = events.parse(body)
    except events.EventError as error:
        abort(400, f"not an event: {error}")
    if update is not None:
        statuses.record(update)
        # The event is stored: whatever happens to the check, it must not be sent again.
        alerts.check()
    return "", 204
