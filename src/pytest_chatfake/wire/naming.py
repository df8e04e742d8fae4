"""The names that hide the channel's brand, and the keys that they must not take."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from typing import Final

from ..base.arguments import check_str


@dataclass(frozen=True, slots=True)
class Naming:
    """The names in which the service's channel brand is hidden behind the word ``chat`` (§1).

    A team sets its channel's own names here, and every event is written and read with them.

    Attributes:
        event_type: The event's ``type`` (§2.2).
        message_key: The envelope's field that holds the message resource (§2.2).
        original_id_key: The field of the platform's message id (§2.3).
        error_key: The field of the platform's error (§2.3).
        trace_key: The field of the platform error's trace id (§2.5).
        biz_type: The value of ``bizType`` (§2.3).
        messaging_product: The value of ``error_data.messaging_product`` (§2.5).
        id_prefix: What the platform's message ids begin with (§2.3).

    Raises:
        TypeError: A name is not text.
        ValueError: A name is empty, not printable ASCII, or a key is taken by another field.
    """

    event_type: str = "chat.message.updated"
    message_key: str = "chatMessage"
    original_id_key: str = "chatMessageId"
    error_key: str = "chatApiError"
    trace_key: str = "trace_id"
    biz_type: str = "chat"
    messaging_product: str = "chat"
    id_prefix: str = "wamid."

    def __post_init__(self) -> None:
        for field in fields(self):
            value = check_str(getattr(self, field.name), f"Naming.{field.name}")
            if not re.fullmatch(r"[!#-\[\]-~]+", value):
                raise ValueError(
                    f"Naming.{field.name} must be printable ASCII without spaces, quotes and "
                    f"backslashes, and {value!r} is not"
                )
        for name, taken in _TAKEN.items():
            value = getattr(self, name)
            if value in taken or (name == "error_key" and value == self.original_id_key):
                raise ValueError(f"Naming.{name} can't be {value!r}: another field has that name")

    @property
    def _message_keys(self) -> frozenset[str]:
        """Every key that the message resource can have (§2.3)."""
        return _MESSAGE_KEYS | {self.original_id_key, self.error_key}


_MESSAGE_KEYS: Final = frozenset(
    {
        "id", "status", "conversation", "totalPrice", "currency", "createTime", "sendTime",
        "deliverTime", "readTime", "errorCode", "errorMessage", "bizType", "type", "text",
    }
)  # fmt: skip

#: The other fields of the object in which each key stands.
_TAKEN: Final[dict[str, AbstractSet[str]]] = {
    "message_key": {"id", "type", "apiVersion", "createTime"},
    "original_id_key": _MESSAGE_KEYS,
    "error_key": _MESSAGE_KEYS,
    "trace_key": {"message", "type", "code", "error_data"},
}
