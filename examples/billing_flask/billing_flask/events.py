"""What the messaging service posts to us, checked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

STATUS_UPDATE = "chat.message.updated"
STATUSES = ("sent", "delivered", "read", "failed")


class EventError(Exception):
    """The body is nothing the service would send."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The 24-hour session a message belongs to."""

    id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """A message has a new status."""

    event_id: str
    message_id: str
    status: str
    price: Decimal
    currency: str
    conversation: Conversation | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    error_code: str | None
    error_message: str | None


def parse(body: bytes) -> StatusUpdate | None:
    """Read the body of a webhook.

    Returns:
        The update, or None for an event that we have no use for: a type or a status that the
        service may add one day. Refusing those would only make it send them again.

    Raises:
        EventError: It is not JSON, or what we need is missing.
    """
    try:
        event = values.load_json(body)
        if _text(event, "type") != STATUS_UPDATE:
            return None
        message = event["chatMessage"]
        if _text(message, "status") not in STATUSES:
            return None
        return _status_update(_text(event, "id"), message)
    except KeyError as error:
        raise EventError(f"{error.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise EventError(str(error)) from None


def _status_update(event_id: str, message: Mapping[str, Any]) -> StatusUpdate:
    status = message["status"]
    price = values.money(message["totalPrice"])
    if price < 0:
        raise ValueError(f"totalPrice is {price}")
    failed = status == "failed"
    arrived = status in ("delivered", "read")
    return StatusUpdate(
        event_id=event_id,
        message_id=_text(message, "id"),
        status=status,
        price=Decimal(0) if failed else price,
        currency=_text(message, "currency"),
        conversation=None if failed else _conversation(message["conversation"]),
        sent_at=None if failed else values.time(message["sendTime"]),
        delivered_at=values.time(message["deliverTime"]) if arrived else None,
        read_at=values.time(message["readTime"]) if status == "read" else None,
        error_code=_text(message, "errorCode") if failed else None,
        error_message=_text(message, "errorMessage") if failed else None,
    )


def _conversation(conversation: Mapping[str, Any]) -> Conversation:
    return Conversation(_text(conversation, "id"), values.time(conversation["expireTime"]))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is {value!r}")
    value.encode()  # half of a surrogate pair is valid JSON and no text: ValueError
    return value
