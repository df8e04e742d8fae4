"""The shapes of §2.2 to §2.5 as pydantic models: to read events with, and to check them by.

The fake itself writes events without them (:mod:`.bodies`), because that is many
times faster; the tests hold every kind of event against these models.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from .naming import Naming


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


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


#: Which optional fields each status has (§2.3, §6). ``chatApiError`` may be in ``failed``, too.
_PRESENT: Final[dict[str, frozenset[str]]] = {
    "sent": frozenset({"conversation", "create_time", "send_time"}),
    "delivered": frozenset({"conversation", "create_time", "send_time", "deliver_time"}),
    "read": frozenset({"conversation", "create_time", "send_time", "deliver_time", "read_time"}),
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
        if self.conversation is not None:
            has_type = self.conversation.type is not None
            if has_type != (self.status in {"delivered", "read"}):
                raise ValueError(
                    "conversation.type is in delivered and read events, and only there"
                )
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
    """Return the model of events that are written with ``naming``.

    The attributes keep their Python names (``event.chat_message.chat_api_error``); the keys and
    the fixed values are the naming's.

    Args:
        naming: The names; None: those of the description.
    """
    naming = naming or Naming()
    error_data = _renamed(ErrorData, {}, {"messaging_product": naming.messaging_product})
    error = _renamed(ChatApiError, {"trace_id": naming.trace_key}, {}, error_data=error_data)
    message = _renamed(
        ChatMessage,
        {"chat_message_id": naming.original_id_key, "chat_api_error": naming.error_key},
        {"biz_type": naming.biz_type},
        chat_message_id=Annotated[str, AfterValidator(_beginning_with(naming.id_prefix))],
        chat_api_error=error | None,
    )
    event: type[ChatMessageUpdated] = _renamed(
        ChatMessageUpdated,
        {"chat_message": naming.message_key},
        {"type": naming.event_type},
        chat_message=message,
    )
    return event


def _renamed(model: Any, aliases: dict[str, str], values: dict[str, str], **types: Any) -> Any:
    """Derive a model with other aliases, with fixed values, and with other types."""
    fields: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if name in aliases or name in values or name in types:
            alias = aliases.get(name, info.alias)
            kind = Literal[values[name]] if name in values else types.get(name, info.annotation)
            default: Any = ... if info.is_required() else info.default
            fields[name] = (kind, Field(default, alias=alias))
    return create_model(model.__name__, __base__=model, **fields)


def _beginning_with(prefix: str) -> Any:
    def check(value: str) -> str:
        if not value.startswith(prefix):
            raise ValueError(f"must begin with {prefix!r}")
        return value

    return check
