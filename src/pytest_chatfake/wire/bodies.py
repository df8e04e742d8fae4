"""What goes over the wire, as bytes: events (§2.2-2.5, §6), and the balance (§4.1).

An event is written once, by :meth:`EventWriter.write`; whatever is recorded, signed, sent or sent
again are those bytes.
"""

from __future__ import annotations

from decimal import Decimal
from json.encoder import encode_basestring_ascii as quoted

from ..domain.facts import Fact
from ..domain.failures import Failure
from ..domain.instants import stamp
from ..domain.messages import MessageState
from .exact_json import encode, number
from .naming import Naming


def balance_body(value: Decimal, currency: str) -> bytes:
    """Write the answer to the balance query (§4.1)."""
    return f'{{"amount":{number(value)},"currency":{quoted(currency)}}}'.encode()


class EventWriter:
    """Writes the event of a fact; what is the same in all events of a fake is written in advance.

    Args:
        naming: The names of fields and values that hide the channel's brand (§1).
        currency: The three-letter code of every amount.
        conversation_type: The ``type`` of every conversation (§2.4).
        sender: The address that messages come from, if nothing else is said.
    """

    __slots__ = (
        "_biz_type",
        "_conversation",
        "_currency",
        "_has_addresses",
        "_naming",
        "_original",
        "_resource",
        "_sender",
        "_type",
    )

    def __init__(self, naming: Naming, currency: str, conversation_type: str, sender: str) -> None:
        self._sender = sender
        self._has_addresses = naming.to_key is not None or naming.from_key is not None
        self._naming = naming
        self._type = f'"type":{quoted(naming.event_type)},"apiVersion":"v2"'
        self._resource = quoted(naming.message_key)
        self._original = quoted(naming.original_id_key)
        self._conversation = f'"type":{quoted(conversation_type)},'
        self._currency = f'"currency":{quoted(currency)}'
        self._biz_type = f'"bizType":{quoted(naming.biz_type)}'

    def write(
        self, event_id: str, fact: Fact, fields: str = "", status: str | None = None
    ) -> bytes:
        """Write an event: the envelope (§2.2) around the message resource (§2.3).

        Which field is present in which status is §2.3, §2.4 and §6 to the letter; a field that is
        not listed is absent, never null.

        Args:
            event_id: The event's id.
            fact: What happened, or is said to have happened.
            fields: More fields of the message resource, as JSON text with a comma before it.
            status: The status to show, if it is another than the fact's.
        """
        what, message, at, _, total_price, conversation, expires_at, _, failure = fact
        shown = what if status is None else encode(status)[1:-1]
        middle = times = people = ""
        if self._has_addresses:
            people = self._addresses(message)
        if what == "failed":
            assert failure is not None
            times = self._failure(failure)
        elif conversation is not None:
            created, sent = message.created_at, message.sent_at
            times = (
                f',"createTime":"{stamp(at if created is None else created)}"'
                f',"sendTime":"{stamp(at if sent is None else sent)}"'
            )
            kind = ""  # §2.4: no type in sent events
            if what != "sent":
                kind = self._conversation
                arrived = message.delivered_at
                times += f',"deliverTime":"{stamp(at if arrived is None else arrived)}"'
                if what == "read":
                    seen = message.read_at
                    times += f',"readTime":"{stamp(at if seen is None else seen)}"'
            expiry = "" if expires_at is None else f',"expireTime":"{stamp(expires_at)}"'
            middle = (
                f',"conversation":{{"id":"{conversation.id}",{kind}'
                f'"originType":{quoted(conversation.origin_type)}{expiry}}}'
            )
        content = message.content
        if content is None:
            content = f'{{"body":{quoted(message.body)}}}'
        return (
            f'{{"id":"{event_id}",{self._type},"createTime":"{stamp(at)}",{self._resource}:{{'
            f'"id":"{message.id}",{self._original}:"{message.chat_message_id}"{people}'
            f',"status":"{shown}"{middle},"totalPrice":{total_price:f},{self._currency}{times}'
            f',{self._biz_type},"type":"{message.type}","{message.type}":{content}'
            f"{fields}{message.extra}}}}}"
        ).encode()

    def write_other(
        self, event_id: str, event_type: str, key: str, resource: str, at: int
    ) -> bytes:
        """Write an event of another type: the envelope (§2.2) around a resource, as JSON text."""
        return (
            f'{{"id":{quoted(event_id)},"type":{quoted(event_type)},"apiVersion":"v2",'
            f'"createTime":"{stamp(at)}",{quoted(key)}:{resource}}}'
        ).encode()

    def _addresses(self, message: MessageState) -> str:
        """Write who sent the message to whom, where the naming has keys for it."""
        naming, text = self._naming, ""
        if naming.from_key is not None:
            text = f",{quoted(naming.from_key)}:{quoted(message.sender or self._sender)}"
        if naming.to_key is not None:
            text += f",{quoted(naming.to_key)}:{quoted(message.recipient)}"
        return text

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
