"""Checks the arguments of a message before anything happens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Final

from ..base.arguments import check_mapping, check_str, cited, unexpected
from ..domain.conversations import ConversationState
from ..domain.messages import DEFAULT_ADDRESS, DEFAULT_PRICE, MessageState
from ..domain.money import amount as exact
from ..domain.verbs import Draft
from ..engine.engine import Engine
from ..wire.exact_json import encode, members
from ..wire.naming import check_type
from .config import ChatFakeConfig, Price, check_extra, check_price_function
from .handles import Conversation, Message
from .recipients import Recipient, address_of

_ASSUMED_PRICE: Final = exact(DEFAULT_PRICE, "price")


class Drafts:
    """Turns a call's arguments into a message and a draft."""

    def __init__(self, engine: Engine, config: ChatFakeConfig) -> None:
        self._engine = engine
        self._naming = config.naming
        self._default_price = self._price(config.price)
        self._price_is_assumed = self._default_price == _ASSUMED_PRICE
        self._default_extra: Mapping[str, object] = {}
        if callable(config.extra):
            engine.executor.extra_fields = partial(self._ask_for_fields, config.extra)
        elif config.extra is not None:
            self._default_extra = dict(config.extra)
        self._default_fields = members(self._default_extra)

    def prepare(
        self,
        type_: object,
        content: object,
        to: str | Recipient | None,
        conversation: Conversation | str | None,
        origin_type: str | None,
        price: Price | None,
        extra: Mapping[str, object] | None,
    ) -> tuple[MessageState, Draft]:
        """Return the message, and the draft that is decided once the message is accepted.

        Arguments and errors are as for :meth:`.ChatFake.send`.
        """
        kind = check_type(type_, self._naming._message_keys)
        value: Any = content
        if kind == "text" or not isinstance(content, list):
            value = dict(check_mapping(content, "content"))
        body = value.get("body") if kind == "text" else ""
        message, draft = self.prepare_text(body, to, conversation, origin_type, price, extra)
        if kind in self._default_extra or (extra is not None and kind in extra):
            _refuse_type_in("extra", kind)
        message.type, message.content = kind, encode(value)
        return message, draft

    def prepare_text(
        self,
        body: str,
        to: str | Recipient | None,
        conversation: Conversation | str | None,
        origin_type: str | None,
        price: Price | None,
        extra: Mapping[str, object] | None,
    ) -> tuple[MessageState, Draft]:
        """Do the same for a text message."""
        self._engine.refuse_closed()
        if not isinstance(body, str):
            raise TypeError(unexpected("body", "a str", body))
        known = None if conversation is None else self._known_conversation(conversation)
        address = DEFAULT_ADDRESS if to is None else address_of(to, self._engine)
        if origin_type is not None:
            check_str(origin_type, "origin_type")
        fields = self._default_fields
        if extra is not None:
            check_extra(extra, self._naming)
            fields = members({**self._default_extra, **extra})
        message = MessageState(body, address, fields)
        if price is None:
            return message, Draft(known, origin_type, self._default_price, self._price_is_assumed)
        return message, Draft(known, origin_type, self._price(price), False)

    def _ask_for_fields(
        self,
        function: Callable[[Message, str], Mapping[str, object]],
        message: MessageState,
        status: str,
    ) -> str:
        # The call's own fields take precedence over the configuration's.
        engine = self._engine
        call = partial(function, Message(engine, message), status)
        found = engine.core.call_back("the extra= function", "a mapping", call)
        check_extra(found, self._naming)
        if message.type in found:
            _refuse_type_in("the extra= function", message.type)
        own = json.loads("{" + message.extra[1:] + "}")
        return members({name: value for name, value in found.items() if name not in own})

    def _known_conversation(self, conversation: Conversation | str) -> ConversationState | str:
        if isinstance(conversation, Conversation):
            if conversation._engine is not self._engine:
                raise ValueError(f"conversation {conversation.id} belongs to another fake")
            return conversation._record
        if not isinstance(conversation, str):
            raise TypeError(unexpected("conversation", "a Conversation or a hex id", conversation))
        if not conversation or not set(conversation) <= set("0123456789abcdefABCDEF"):
            raise ValueError(unexpected("conversation", "a hex id such as 'c0ffee'", conversation))
        return str.__str__(conversation)  # also for a member of an enumeration

    def _price(self, price: Price) -> Decimal | Callable[[MessageState], Decimal]:
        if not callable(price):
            return exact(price, "price")
        check_price_function(price)
        engine = self._engine

        def ask(message: MessageState) -> Decimal:
            call = partial(price, Message(engine, message))
            found = engine.core.call_back("a price function", "an amount", call)
            return exact(found, "the amount that the price function returned")

        return ask


def _refuse_type_in(what: str, type_: str) -> None:
    raise ValueError(
        f"{what} can't set {cited(type_)} in a message of that type: its content has that key"
    )
