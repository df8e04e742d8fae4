"""What the messaging service posts to us, checked."""

import json
from decimal import Decimal
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError


class _Model(BaseModel):
    # Fields that the service adds one day are no reason to refuse its webhooks.
    model_config = ConfigDict(extra="ignore", frozen=True)


class Conversation(_Model):
    """The 24-hour session that a message belongs to."""

    id: str
    ends: AwareDatetime = Field(alias="expireTime")


class Text(_Model):
    """What a message says."""

    body: str


class ChatMessage(_Model):
    """A message, in the state that the event tells of."""

    id: str
    status: Literal["sent", "delivered", "read", "failed"]
    price: Decimal = Field(alias="totalPrice", ge=0)
    currency: str
    conversation: Conversation | None = None
    problem: str | None = Field(default=None, alias="errorMessage")
    text: Text


class Event(_Model):
    """A message has a new status."""

    id: str
    type: Literal["chat.message.updated"]
    message: ChatMessage = Field(alias="chatMessage")


class EventError(Exception):
    """The body is nothing that the service would send."""


_adapter = TypeAdapter(Event)


def parse(body: bytes) -> Event:
    """Read the body of a webhook.

    Raises:
        EventError: It is no event.
    """
    try:
        # Parsed here, since pydantic's own parser would read 0.1 as a float first.
        return _adapter.validate_python(json.loads(body, parse_float=Decimal))
    except (ValidationError, ValueError) as error:
        raise EventError(str(error)) from None
