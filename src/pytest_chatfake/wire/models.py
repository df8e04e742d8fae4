"""The shapes of §2.2 to §2.5 as pydantic models: to read events with, and to check them by.

The fake itself writes events without them (:mod:`.bodies`), which is many times faster; the tests
hold every kind of event against these models.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from .naming import Naming


class _Model(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="allow", populate_by_name=True
    )


class Text(_Model):
    """``text`` of a text message (§2.3)."""

    body: str


class ErrorData(_Model):
    """``error_data`` of a platform error (§2.5)."""

    messaging_product: str
    details: str


class ChatApiError(_Model):
    """The platform's error, ``chatApiError`` (§2.5)."""

    message: str
    type: str
    code: str
    trace_id: str
    error_data: ErrorData


class Conversation(_Model):
    """``conversation`` (§2.4); ``type`` is absent while the message is only sent."""

    id: str = Field(pattern=r"^[0-9a-fA-F]+$")
    type: str | None = None
    origin_type: str = Field(alias="originType")
    expire_time: datetime = Field(alias="expireTime")


_SENT: Final = frozenset({"conversation", "create_time", "send_time"})

#: Which optional fields each status has (§2.3, §6). ``chatApiError`` may be in ``failed``, too.
_PRESENT: Final[dict[str, frozenset[str]]] = {
    "sent": _SENT,
    "delivered": _SENT | {"deliver_time"},
    "read": _SENT | {"deliver_time", "read_time"},
    "failed": frozenset({"error_code", "error_message"}),
}
_OPTIONAL: Final = frozenset[str]().union(*_PRESENT.values())


class ChatMessage(_Model):
    """The message resource (§2.3): which fields are present depends on the status."""

    id: str
    chat_message_id: str = Field(alias="chatMessageId")
    status: Literal["sent", "delivered", "read", "failed"]
    conversation: Conversation | None = None
    total_price: Decimal = Field(alias="totalPrice", ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    create_time: datetime | None = Field(None, alias="createTime")
    send_time: datetime | None = Field(None, alias="sendTime")
    deliver_time: datetime | None = Field(None, alias="deliverTime")
    read_time: datetime | None = Field(None, alias="readTime")
    error_code: str | None = Field(None, alias="errorCode")
    error_message: str | None = Field(None, alias="errorMessage")
    chat_api_error: ChatApiError | None = Field(None, alias="chatApiError")
    biz_type: str = Field(alias="bizType")
    type: str
    text: Text | None = None

    @model_validator(mode="after")
    def _check_presence(self) -> Self:
        present = {name for name in _OPTIONAL if getattr(self, name) is not None}
        expected = _PRESENT[self.status]
        if present != expected:
            wrong = sorted(present.symmetric_difference(expected))
            raise ValueError(f"a {self.status} message is wrong in having or lacking {wrong}")
        if (self.type == "text") != (self.text is not None):
            raise ValueError("text is in messages of the type text, and only there")
        if self.chat_api_error is not None and self.status != "failed":
            raise ValueError(f"a {self.status} message has no platform error")
        typed = self.conversation is not None and self.conversation.type is not None
        if typed != (self.status in {"delivered", "read"}):
            raise ValueError("conversation.type is in delivered and read events, and only there")
        return self


class ChatMessageUpdated(_Model):
    """The event envelope (§2.2), with the names of the description."""

    id: str = Field(pattern=r"^evt_.+")
    type: str
    api_version: Literal["v2"] = Field(alias="apiVersion")
    create_time: datetime = Field(alias="createTime")
    chat_message: ChatMessage = Field(alias="chatMessage")


@cache
def event_model(naming: Naming | None = None) -> type[ChatMessageUpdated]:
    """Return the model of events that are written with ``naming``; None: the description's names.

    The attributes keep their Python names (``event.chat_message.chat_api_error``); the keys and
    the fixed values are the naming's.
    """
    naming = naming or Naming()
    error_data = _derived(ErrorData, {}, messaging_product=Literal[naming.messaging_product])
    error = _derived(ChatApiError, {"trace_id": naming.trace_key}, error_data=error_data)
    message = _derived(
        ChatMessage,
        {"chat_message_id": naming.original_id_key, "chat_api_error": naming.error_key},
        chat_message_id=Annotated[str, Field(pattern="^" + re.escape(naming.id_prefix))],
        chat_api_error=error | None,
        biz_type=Literal[naming.biz_type],
    )
    event: type[ChatMessageUpdated] = _derived(
        ChatMessageUpdated,
        {"chat_message": naming.message_key},
        chat_message=message,
        type=Literal[naming.event_type],
    )
    return event


def _derived(model: Any, aliases: dict[str, str], **types: Any) -> Any:
    """Derive a model with other aliases and other types."""
    fields: dict[str, Any] = {}
    for name in {**aliases, **types}:
        field = model.model_fields[name]
        default: Any = ... if field.is_required() else field.default
        alias = aliases.get(name, field.alias)
        fields[name] = (types.get(name, field.annotation), Field(default, alias=alias))
    return create_model(model.__name__, __base__=model, **fields)
