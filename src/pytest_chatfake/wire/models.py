"""The event (§2.2 to §2.5, §6) as pydantic models, one for each status of a message.

The models that users import, the JSON Schema that the program prints, and the check of recorded
bodies are all derived from this module. The fake itself writes events without the models
(:mod:`.bodies`), because that is many times faster; the tests validate those events against the
models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeAlias, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    create_model,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from .naming import Naming

_T = TypeVar("_T")

_MOMENT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"


def _check_number(value: object) -> object:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("number_type", "Input should be a number")


def _check_moment(value: object) -> object:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and re.fullmatch(_MOMENT, value):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    raise PydanticCustomError("moment", "Input should be a moment in UTC with milliseconds and Z")


def _refuse(_: object) -> NoReturn:
    raise PydanticCustomError("unexpected", "Field not allowed in messages of this status")


Filled: TypeAlias = Annotated[str, Field(min_length=1)]
Amount: TypeAlias = Annotated[
    Decimal,
    Field(ge=0),
    BeforeValidator(_check_number),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
Timestamp: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_check_moment),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": _MOMENT}),
]


class _NotNull:
    """Marks a field that may be absent, and is then None in Python, but is never null."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return handler(get_args(source)[0])


Possible: TypeAlias = Annotated[_T | None, _NotNull()]
#: A field that only other statuses have: None in Python, and refused in a body even as null.
Absent: TypeAlias = Annotated[None, PlainValidator(_refuse), WithJsonSchema({"not": {}})]


def _keys(naming: Naming) -> Callable[[str], str]:
    # From a field's Python name to its key.
    keys = {
        "chat_message": naming.message_key,
        "chat_message_id": naming.original_id_key,
        "chat_api_error": naming.error_key,
        "trace_id": naming.trace_key,
        "sender": naming.from_key,
        "recipient": naming.to_key,
        # The platform's own names are not in camel case (§2.5).
        "error_data": "error_data",
        "messaging_product": "messaging_product",
    }
    return lambda name: keys.get(name) or to_camel(name)


class _Model(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="allow", alias_generator=_keys(Naming())
    )


class Text(_Model):
    """The text of a message (§2.3)."""

    body: str


class ErrorData(_Model):
    """The details of the platform's error (§2.5)."""

    messaging_product: str
    details: str


class ChatApiError(_Model):
    """The platform's error (§2.5)."""

    message: str
    type: str
    code: str
    trace_id: str
    error_data: ErrorData


class AnyConversation(_Model):
    """The conversation (§2.4)."""

    id: Annotated[str, Field(pattern="^[0-9a-fA-F]+$")]
    origin_type: Filled
    expire_time: Timestamp


class PendingConversation(AnyConversation):
    """The conversation of a message that is sent; its session may not have begun (§2.4)."""

    type: Absent = None


class StartedConversation(AnyConversation):
    """The conversation of a message that was delivered (§2.4)."""

    type: Filled


#: Stands for a missing text, because None would stand for null.
_NO_TEXT: Any = object()


class ChatMessage(_Model):
    """The fields that messages of every status have (§2.3)."""

    id: Filled
    chat_message_id: str
    total_price: Amount
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    biz_type: str
    type: Filled
    text: Possible[Text] = Field(_NO_TEXT, validate_default=True)

    model_config: ClassVar[ConfigDict] = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"type": {"const": "text"}}, "required": ["type"]},
            "then": {"required": ["text"]},
            "else": {"properties": {"text": {"not": {}}}},
        }
    )

    @field_validator("text", mode="wrap")
    @classmethod
    def _check_text(
        cls, value: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        # As in the schema above. A missing type is then the only mismatch.
        is_text = info.data.get("type", "" if value is _NO_TEXT else "text") == "text"
        if value is _NO_TEXT and is_text:
            raise PydanticCustomError(
                "missing", "Field required in {kind}", {"kind": "a text message"}
            )
        if value is _NO_TEXT:
            return None
        if not is_text:
            raise PydanticCustomError(
                "unexpected", "Field not allowed in {kind}", {"kind": "a non-text message"}
            )
        return validate(value)


class AcceptedMessage(ChatMessage):
    """The fields of messages that were sent, whatever happened to them later (§6)."""

    create_time: Timestamp
    send_time: Timestamp
    error_code: Absent = None
    error_message: Absent = None
    chat_api_error: Absent = None


class SentMessage(AcceptedMessage):
    """A message whose status is ``sent`` (§6)."""

    status: Literal["sent"]
    conversation: PendingConversation
    deliver_time: Absent = None
    read_time: Absent = None


class DeliveredMessage(AcceptedMessage):
    """A message whose status is ``delivered`` (§6)."""

    status: Literal["delivered"]
    conversation: StartedConversation
    deliver_time: Timestamp
    read_time: Absent = None


class ReadMessage(AcceptedMessage):
    """A message whose status is ``read`` (§6)."""

    status: Literal["read"]
    conversation: StartedConversation
    deliver_time: Timestamp
    read_time: Timestamp


class FailedMessage(ChatMessage):
    """A message whose status is ``failed``; if the platform refused it, with its error (§6)."""

    status: Literal["failed"]
    conversation: Absent = None
    create_time: Absent = None
    send_time: Absent = None
    deliver_time: Absent = None
    read_time: Absent = None
    error_code: Filled
    error_message: str
    chat_api_error: Possible[ChatApiError] = None


class Envelope(_Model):
    """The envelope (§2.2): the fields that events of every type have."""

    id: Annotated[str, Field(pattern="^evt_.+")]
    type: Filled
    api_version: Literal["v2"]
    create_time: Timestamp


class ChatMessageUpdated(Envelope):
    """An event about a message (§2.2, §6), with the field names of the description."""

    chat_message: Annotated[
        SentMessage | DeliveredMessage | ReadMessage | FailedMessage, Field(discriminator="status")
    ]


@cache
def event_model(
    naming: Naming, extra: Literal["allow", "forbid"] = "allow"
) -> type[ChatMessageUpdated]:
    """Return the model of events with these names.

    The attributes keep their Python names; the keys and the constants come from the naming.

    Args:
        naming: The names of the channel's brand.
        extra: Whether fields that the description does not have are allowed.
    """

    class Named(_Model):
        model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=_keys(naming), extra=extra)

    def with_names(model: type[_Model], **fields: Any) -> Any:
        return create_model(
            model.__name__, __base__=(model, Named), __doc__=model.__doc__, **fields
        )

    def message(model: type[ChatMessage], **fields: Any) -> Any:
        prefixed = Annotated[str, Field(pattern="^" + re.escape(naming.id_prefix))]
        addresses = {"sender": naming.from_key, "recipient": naming.to_key}
        fields |= {name: (Filled, ...) for name, key in addresses.items() if key is not None}
        return with_names(
            model,
            chat_message_id=(prefixed, ...),
            biz_type=(Literal[naming.biz_type], ...),
            text=(possible[text], Field(_NO_TEXT, validate_default=True)),
            **fields,
        )

    possible: Any = Possible
    text = with_names(Text)
    data = with_names(ErrorData, messaging_product=(Literal[naming.messaging_product], ...))
    error = with_names(ChatApiError, error_data=(data, ...))
    started = with_names(StartedConversation)
    sent = message(SentMessage, conversation=(with_names(PendingConversation), ...))
    delivered = message(DeliveredMessage, conversation=(started, ...))
    read = message(ReadMessage, conversation=(started, ...))
    failed = message(FailedMessage, chat_api_error=(possible[error], None))
    any_message: Any = Annotated[sent | delivered | read | failed, Field(discriminator="status")]
    event: type[ChatMessageUpdated] = with_names(
        ChatMessageUpdated,
        type=(Literal[naming.event_type], ...),
        chat_message=(any_message, ...),
    )
    return event


def event_schema(naming: Naming, omit: Collection[str] = ()) -> JsonSchemaValue:
    """Return the JSON Schema (draft 2020-12) of events with these names.

    The schema allows further fields, because an account may have its own, and messages of other
    types have their content.

    Args:
        naming: The names of the channel's brand.
        omit: Fields of the message resource that are not required.
    """
    schema = event_model(naming).model_json_schema(schema_generator=_PlainSchema)
    for part in schema["$defs"].values():
        if "status" in part["properties"]:
            part["required"] = [name for name in part["required"] if name not in omit]
            if not {"type", "text"}.isdisjoint(omit):
                del part["if"], part["then"], part["else"]
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


class _PlainSchema(GenerateJsonSchema):
    """Leaves out titles that only repeat field names, and the defaults of Python attributes."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])
