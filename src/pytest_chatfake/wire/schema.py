"""The JSON Schema of events (§2.2 to §2.5, §6): for other programs, and for recorded bodies.

It says what the models of :mod:`.models` say, and stricter: numbers are numbers, moments have
milliseconds, and nothing is null. It needs no library, and the tests hold it against the models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from .naming import Naming

Schema: TypeAlias = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Final[Schema] = {"type": "string"}
_FILLED: Final[Schema] = {"type": "string", "minLength": 1}
_MOMENT: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$",
}

#: Which fields a status has beside those that all have; a field of another status is absent.
_OF_STATUS: Final = {
    "sent": ("conversation", "createTime", "sendTime"),
    "delivered": ("conversation", "createTime", "sendTime", "deliverTime"),
    "read": ("conversation", "createTime", "sendTime", "deliverTime", "readTime"),
    "failed": ("errorCode", "errorMessage"),
}
_OPTIONAL: Final = (*_OF_STATUS["read"], *_OF_STATUS["failed"])


def event_schema(naming: Naming | None = None) -> Schema:
    """Return the JSON Schema of events, draft 2020-12.

    Fields that it does not name are allowed: those of an account, and of messages that are no text.

    Args:
        naming: The names that events are written with; None: the description's.
    """
    naming = naming or Naming()
    properties: Schema = {
        "id": {"type": "string", "pattern": "^evt_.+"},
        "type": {"const": naming.event_type},
        "apiVersion": {"const": "v2"},
        "createTime": _MOMENT,
        naming.message_key: {"$ref": "#/$defs/message"},
    }
    return {
        "$schema": _DIALECT,
        "title": naming.event_type,
        **_object("The event envelope (§2.2).", properties),
        "$defs": {
            "message": _message(naming),
            "conversation": _object(
                "The conversation (§2.4).",
                {
                    "id": {"type": "string", "pattern": "^[0-9a-fA-F]+$"},
                    "type": _FILLED,
                    "originType": _FILLED,
                    "expireTime": _MOMENT,
                },
                optional=["type"],
            ),
            "text": _object("The text of a message (§2.3).", {"body": _TEXT}),
            "error": _object(
                "The platform's error (§2.5).",
                {
                    "message": _TEXT,
                    "type": _TEXT,
                    "code": _TEXT,
                    naming.trace_key: _TEXT,
                    "error_data": {"$ref": "#/$defs/error_data"},
                },
            ),
            "error_data": _object(
                "What the platform's error tells beside (§2.5).",
                {"messaging_product": {"const": naming.messaging_product}, "details": _TEXT},
            ),
        },
    }


def envelope_schema() -> Schema:
    """Return the JSON Schema of what events of all types have: the envelope (§2.2).

    The description has one type (§6): what else stands in an event of another one is not known.
    """
    properties: Schema = {
        "id": {"type": "string", "pattern": "^evt_.+"},
        "type": _FILLED,
        "apiVersion": {"const": "v2"},
        "createTime": _MOMENT,
    }
    schema = _object("The event envelope (§2.2).", properties)
    return {"$schema": _DIALECT, "title": "event", **schema, "$defs": {}}


def is_other_type(event: Mapping[str, Any], naming: Naming | None = None) -> bool:
    """Return whether an event is of another type than those about messages (§6), by its body.

    It is none if it has a message, or if its type differs in the channel's name only: then
    something else is wrong, with the event or with the naming.

    Args:
        event: The event, parsed.
        naming: As for :func:`event_schema`.
    """
    naming = naming or Naming()
    kind = event.get("type")
    if not isinstance(kind, str) or not kind or naming.message_key in event:
        return False
    own = naming.event_type
    return kind != own and kind.partition(".")[2] != own.partition(".")[2]


def _message(naming: Naming) -> Schema:
    properties: Schema = {
        "id": _FILLED,
        naming.original_id_key: {"type": "string", "pattern": "^" + re.escape(naming.id_prefix)},
        "status": {"enum": list(_OF_STATUS)},
        "conversation": {"$ref": "#/$defs/conversation"},
        "totalPrice": {"type": "number", "minimum": 0},
        "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "createTime": _MOMENT,
        "sendTime": _MOMENT,
        "deliverTime": _MOMENT,
        "readTime": _MOMENT,
        "errorCode": _FILLED,
        "errorMessage": _TEXT,
        naming.error_key: {"$ref": "#/$defs/error"},
        "bizType": {"const": naming.biz_type},
        "type": _FILLED,
        "text": {"$ref": "#/$defs/text"},
    }
    optional = [*_OPTIONAL, naming.error_key, "text"]
    for key in filter(None, (naming.from_key, naming.to_key)):
        properties[key] = _FILLED
    schema = _object("The message (§2.3).", properties, optional)
    rules = [_of_status(status, naming.error_key) for status in _OF_STATUS]
    with_text: Schema = {"description": "a text message", "required": ["text"]}
    without: Schema = {"description": "a message that is no text", "properties": {"text": False}}
    return schema | {
        "allOf": [*rules, {"if": _is("type", "text"), "then": with_text, "else": without}]
    }


def _of_status(status: str, error_key: str) -> Schema:
    there = _OF_STATUS[status]
    properties: Schema = {key: False for key in _OPTIONAL if key not in there}
    if status != "failed":
        properties[error_key] = False
        # Where a session may not have begun, its type is absent (§2.4).
        kind: Schema = (
            {"properties": {"type": False}} if status == "sent" else {"required": ["type"]}
        )
        properties["conversation"] = {
            "description": f"the conversation of a {status} message"
        } | kind
    then = {"description": f"a {status} message", "required": [*there], "properties": properties}
    return {"if": _is("status", status), "then": then}


def _is(key: str, value: str) -> Schema:
    return {"properties": {key: {"const": value}}, "required": [key]}


def _object(description: str, properties: Schema, optional: list[str] | None = None) -> Schema:
    required = [key for key in properties if key not in (optional or ())]
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
    }
