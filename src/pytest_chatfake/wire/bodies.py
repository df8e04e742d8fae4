"""Bodies as bytes: events (§2.2-2.5, §6) and the balance (§4.1).

An event is written once, by :meth:`EventWriter.write`. The same bytes are recorded, signed, and
posted in every attempt.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from decimal import Decimal
from json.encoder import encode_basestring_ascii as quoted

from ..domain.facts import Fact
from ..domain.failure_codes import Failure
from ..domain.instants import shown, stamp
from ..domain.messages import MessageState
from .exact_json import encode, number
from .naming import Naming


def balance_body(value: Decimal, currency: str) -> bytes:
    """Write the response to the balance query (§4.1)."""
    return f'{{"amount":{number(value)},"currency":{quoted(currency)}}}'.encode()


class EventWriter:
    """Writes a fake's events. The parts that all events share are written in advance.

    Args:
        naming: The names of the channel's brand.
        currency: The three-letter code of every amount (§2.1).
        conversation_type: The ``type`` of conversations (§2.4).
        sender: The sender's address, unless a message has its own.
        omit: Fields of the message resource that this account does not have.
        ticks: Whether events may show other moments than those that the rules use.

    Attributes:
        event_type: The ``type`` of every event about a message (§6).
    """

    def __init__(
        self,
        naming: Naming,
        currency: str,
        conversation_type: str,
        sender: str,
        omit: Collection[str],
        *,
        ticks: bool,
    ) -> None:
        self._stamp = _shown if ticks else stamp
        self._sender = sender
        self._omit = omit
        self._naming = naming
        self._has_addresses = naming.from_key is not None or naming.to_key is not None
        self.event_type: str = naming.event_type
        self._type = f'","type":{quoted(naming.event_type)},"apiVersion":"v2","createTime":"'
        self._resource = f'",{quoted(naming.message_key)}:{{"id":"'
        self._original = f'",{quoted(naming.original_id_key)}:"'
        self._conversation = f'"type":{quoted(conversation_type)},'
        self._currency = f',"currency":{quoted(currency)}'
        self._biz_type = f',"bizType":{quoted(naming.biz_type)},"type":"'

    def write(
        self, event_id: str, fact: Fact, fields: str = "", status: str | None = None
    ) -> bytes:
        """Write an event: the envelope (§2.2) around the message resource (§2.3).

        Each status has exactly the fields of §2.3, §2.4 and §6. Other fields are absent, never
        null.

        Args:
            event_id: The event's id.
            fact: What happened.
            fields: Extra fields for the message resource, as JSON text that starts with a comma.
            status: The status to show; None: the fact's.
        """
        what, message, conversation = fact.what, fact.message, fact.conversation
        stamp = self._stamp
        now = stamp(fact.at)
        shown_status = what if status is None else encode(status)[1:-1]
        session = details = ""
        if what == "failed":
            assert fact.failure is not None
            details = self._failure(fact.failure)
        elif conversation is not None:
            # The message only gets this fact's moment when the fact is applied.
            sent = now if message.sent_at is None else stamp(message.sent_at)
            created = sent if message.created_at is None else stamp(message.created_at)
            details = f',"createTime":"{created}","sendTime":"{sent}"'
            kind = ""
            if what != "sent":
                kind = self._conversation
                delivered = now if message.delivered_at is None else stamp(message.delivered_at)
                details += f',"deliverTime":"{delivered}"'
            if what == "read":
                read = now if message.read_at is None else stamp(message.read_at)
                details += f',"readTime":"{read}"'
            assert fact.expires_at is not None  # an estimate, if the session has not begun
            session = (
                f',"conversation":{{"id":"{conversation.id}",{kind}'
                f'"originType":{quoted(conversation.origin_type)},'
                f'"expireTime":"{stamp(fact.expires_at)}"}}'
            )
        content = message.content
        if content is None:
            content = f'{{"body":{quoted(message.body)}}}'
        addresses = self._addresses(message) if self._has_addresses else ""
        body = (
            f'{{"id":"{event_id}{self._type}{now}{self._resource}'
            f'{message.id}{self._original}{message.chat_message_id}"{addresses},"status":"{shown_status}"'
            f'{session},"totalPrice":{number(fact.total_price)}{self._currency}{details}'
            f'{self._biz_type}{message.type}","{message.type}":{content}{fields}{message.extra}}}}}'
        )
        return (self._without_omitted(body) if self._omit else body).encode()

    def _without_omitted(self, body: str) -> str:
        event = json.loads(body, parse_float=Decimal)
        for key in self._omit:
            event[self._naming.message_key].pop(key, None)
        return encode(event)

    def write_other(
        self, event_id: str, event_type: str, key: str, resource: str, at: int
    ) -> bytes:
        """Write an event of another type: the envelope (§2.2) around a resource, as JSON text."""
        return (
            f'{{"id":{quoted(event_id)},"type":{quoted(event_type)},"apiVersion":"v2",'
            f'"createTime":"{self._stamp(at)}",{quoted(key)}:{resource}}}'
        ).encode()

    def _addresses(self, message: MessageState) -> str:
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


def _shown(moment: int) -> str:
    return stamp(shown(moment))
