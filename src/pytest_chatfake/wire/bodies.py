"""What goes over the wire, as bytes: events (§2.2-2.5, §6), and the balance (§4.1).

An event is written once, by :meth:`EventWriter.write`; whatever is recorded, signed, sent or sent
again are those bytes. Numbers are written digit by digit from exact decimals.
"""

from __future__ import annotations

from decimal import Decimal
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..domain.instants import stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..domain.conversations import Conversation
    from ..domain.facts import Failure
    from ..domain.messages import MessageState
    from ..fake.config import ChatFakeConfig

__all__ = ["EventWriter", "balance_body", "encode", "members", "number"]


def number(value: Decimal) -> str:
    """Write a finite decimal as a JSON number, digit for digit and without an exponent."""
    return format(value, "f")


def encode(value: Any) -> str:
    """Write a value as JSON text, decimals exactly.

    Raises:
        TypeError: JSON has no such thing, or a key is no text.
        ValueError: A number is not finite.
    """
    anything: Any = value  # for what the type checkers make of the patterns
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return int.__repr__(value)
        case Decimal() if value.is_finite():
            return number(value)
        case float() if isfinite(value):
            return float.__repr__(value)
        case Decimal() | float():
            raise ValueError(f"{value} can't be written as a JSON number")
        case dict():
            return "{" + members(anything)[1:] + "}"
        case list() | tuple():
            return "[" + ",".join(map(encode, anything)) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} {value!r} can't be written as JSON")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return quoted(key)
    raise TypeError(f"a JSON key must be text, not {type(key).__name__} {key!r}")


def members(fields: Mapping[Any, Any]) -> str:
    """Write fields as the inside of a JSON object, each with a comma before it."""
    return "".join(f",{_key(key)}:{encode(value)}" for key, value in fields.items())


def balance_body(value: Decimal, currency: str) -> bytes:
    """Write the answer to the balance query (§4.1)."""
    return f'{{"amount":{number(value)},"currency":{quoted(currency)}}}'.encode()


class EventWriter:
    """Writes the event of a fact; what is the same in all events of a fake is written in advance.

    Args:
        config: Gives the names, the currency and the conversation type.
    """

    __slots__ = (
        "_body",
        "_conversation_type",
        "_currency",
        "_naming",
        "_original",
        "_resource",
        "_type",
    )

    def __init__(self, config: ChatFakeConfig) -> None:
        naming = self._naming = config.naming
        self._type = f'"type":{quoted(naming.event_type)},"apiVersion":"v2"'
        self._resource = quoted(naming.message_key)
        self._original = quoted(naming.original_id_key)
        self._conversation_type = f'"type":{quoted(config.conversation_type)},'
        self._currency = f'"currency":{quoted(config.currency)}'
        self._body = f'"bizType":{quoted(naming.biz_type)},"type":"text","text":{{"body":'

    def write(
        self, event_id: str, what: str, message: MessageState, at: int, expires_at: int | None
    ) -> bytes:
        """Write an event: the envelope (§2.2) around the message resource (§2.3).

        Which field is present in which status is §2.3, §2.4 and §6 to the letter; a field that is
        not listed is absent, never null.

        Args:
            event_id: The event's id.
            what: The status to show.
            message: The message, as it stands now.
            at: When the event is emitted, in nanoseconds.
            expires_at: The ``expireTime`` to show, in nanoseconds.
        """
        conversation = times = failure = ""
        if message.conversation is not None and what != "failed":
            conversation = self._conversation(what, message.conversation, expires_at)
            times = _times(what, message)
        if message.failure is not None and what == "failed":
            failure = self._failure(message.failure)
        return (
            f'{{"id":"{event_id}",{self._type},"createTime":"{stamp(at)}",{self._resource}:{{'
            f'"id":"{message.id}",{self._original}:"{message.chat_message_id}","status":"{what}"'
            f'{conversation},"totalPrice":{message.total_price:f},{self._currency}{times}{failure}'
            f",{self._body}{quoted(message.body)}}}{message.extra}}}}}"
        ).encode()

    def _conversation(self, what: str, conversation: Conversation, expires_at: int | None) -> str:
        # §2.4: no type in sent events.
        kind = "" if what == "sent" else self._conversation_type
        expiry = "" if expires_at is None else f',"expireTime":"{stamp(expires_at)}"'
        return (
            f',"conversation":{{"id":"{conversation.id}",{kind}'
            f'"originType":{quoted(conversation.origin_type)}{expiry}}}'
        )

    def _failure(self, failure: Failure) -> str:
        text = f',"errorCode":{quoted(failure.code)},"errorMessage":{quoted(failure.message)}'
        error = failure.platform_error
        if error is None:
            return text
        naming = self._naming
        resource = {
            "message": error.message,
            "type": error.type,
            "code": error.code,
            naming.trace_key: error.trace_id,
            "error_data": {
                "messaging_product": naming.messaging_product,
                "details": error.details,
            },
        }
        return f"{text},{quoted(naming.error_key)}:{encode(resource)}"


def _times(what: str, message: MessageState) -> str:
    """Write the times that an event shows."""
    assert message.created_at is not None
    assert message.sent_at is not None
    text = f',"createTime":"{stamp(message.created_at)}","sendTime":"{stamp(message.sent_at)}"'
    if what != "sent" and message.delivered_at is not None:
        text += f',"deliverTime":"{stamp(message.delivered_at)}"'
        if what == "read" and message.read_at is not None:
            text += f',"readTime":"{stamp(message.read_at)}"'
    return text
