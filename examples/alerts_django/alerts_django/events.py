"""Webhooks, applied: the furthest status of each message, and a mail for each failure."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from .models import Message

REPLACES = {
    "sent": (),
    "delivered": ("sent",),
    "read": ("sent", "delivered"),
    "failed": ("sent",),
}
"""Which statuses an event may replace; read and failed are final."""


class EventError(Exception):
    """The body is nothing that the service would send."""


def parse(body: bytes) -> dict[str, Any] | None:
    """Read the body of a webhook, with its numbers as written.

    Returns:
        The message that it tells of; None for an event that we have no use for.

    Raises:
        EventError: It is no event.
    """
    try:
        event = json.loads(body, parse_float=Decimal)
        if event["type"] != "chat.message.updated":
            return None
        told = event["chatMessage"]
        if told["status"] not in REPLACES:
            return None
        return {
            "id": str(told["id"]),
            "status": told["status"],
            "price": Decimal(told["totalPrice"]),
            "currency": str(told["currency"]),
            "problem": str(told.get("errorMessage", "")),
        }
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise EventError(f"{type(error).__name__}: {error}") from None


@transaction.atomic
def record(told: dict[str, Any]) -> bool:
    """Keep what an event says of a message; return whether it was news.

    An event that comes again, or late, finds a status that it may not replace.
    """
    message, new = Message.objects.get_or_create(id=told["id"], defaults=told)
    if not new:
        if message.status not in REPLACES[told["status"]]:
            return False
        for name, value in told.items():
            setattr(message, name, value)
        message.save()
    if message.status == "failed":
        # Not before it is stored for good: a transaction that is rolled back comes again.
        transaction.on_commit(partial(tell_of_failure, message))
    return True


def tell_of_failure(message: Message) -> None:
    """Tell the team that a message has failed."""
    send_mail("A message failed", f"{message.id}: {message.problem}", None, settings.TEAM)
