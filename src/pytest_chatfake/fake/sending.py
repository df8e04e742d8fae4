"""Sending: what a test says of a message, checked before anything happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..base.arguments import text
from ..domain.account import Draft
from ..domain.messages import MessageState
from ..domain.money import amount as exact
from ..wire.bodies import members
from .messages import Conversation, Message, Recipient, Submission

if TYPE_CHECKING:
    from decimal import Decimal

    from ..domain.conversations import Conversation as ConversationRecord
    from ..engine.engine import Engine
    from .config import ChatFakeConfig, Price

__all__ = ["Sending"]

#: The person that messages without ``to=`` go to.
_DEFAULT_RECIPIENT = Recipient("+15550100")


class Sending:
    """The part of a fake that sends messages."""

    config: ChatFakeConfig
    _engine: Engine
    _recipients: dict[str, Recipient]
    _default_price: Decimal | Callable[[MessageState], Decimal]

    def recipient(self, address: str, *, devices: int = 1, read_receipts: bool = True) -> Recipient:
        """Describe a person: messages to this address go by it from now on.

        Args:
            address: Where messages go; any text.
            devices: How many devices the person uses.
            read_receipts: Whether the service learns of reading (§3 rule 3).

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: The address is empty, or there is no device.
        """
        self._engine.refuse_closed()
        person = Recipient(address, devices, read_receipts)
        self._recipients[address] = person
        return person

    def send_text(
        self,
        body: str = "Hello",
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Message:
        """Send a text message: it is accepted and sent; a ``sent`` event, and money is held (§3).

        Args:
            body: The text.
            to: An address, or a recipient; None: one and the same person.
            conversation: The conversation it belongs to, or a hex id for one; None: the pending
                or open one with that person and origin type, or a new one (assumed).
            origin_type: The origin type of a new conversation (§2.4).
            price: What starting a conversation with it costs, instead of the configuration's: an
                amount, or a function of the message.
            extra: More fields for the message resource of its events, as JSON knows them.

        Returns:
            The message. In async mode, ``await`` it or a chain of its verbs.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, empty, or of another fake; or the conversation
                has another origin type.
            IllegalTransition: The conversation's session is over.
            ClosedError: The conversation was begun before the fake was reset.
        """
        submission = self._submission(body, to, conversation, origin_type, price, extra)
        return submission._decide("send_text()", submission._accept)

    def submit_text(
        self,
        body: str = "Hello",
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Submission:
        """Submit a text message, and decide afterwards: ``.accept()`` or ``.reject()`` it.

        Args are those of :meth:`send_text`. Its conversation is found when it is accepted.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, empty, or of another fake.
        """
        submission = self._submission(body, to, conversation, origin_type, price, extra)
        self._engine.created(submission._message)
        return submission

    def _submission(
        self,
        body: str,
        to: str | Recipient | None,
        conversation: Conversation | str | None,
        origin_type: str | None,
        price: Price | None,
        extra: Mapping[str, object] | None,
    ) -> Submission:
        self._engine.refuse_closed()
        if not isinstance(body, str):
            raise TypeError(f"body must be text, not {type(body).__name__} {body!r}")
        known = self._known_conversation(conversation)
        person = self._person(to)
        if origin_type is not None:
            text(origin_type, "origin_type")
        message = MessageState(
            body, person.address, person.devices, person.read_receipts, self._extra(extra)
        )
        charge = self._default_price if price is None else self._price(price)
        return Submission(self._engine, message, Draft(known, origin_type, charge))

    def _known_conversation(
        self, conversation: Conversation | str | None
    ) -> ConversationRecord | str | None:
        if conversation is None:
            return None
        if isinstance(conversation, Conversation):
            if conversation._engine is not self._engine:
                raise ValueError(f"conversation {conversation.id} belongs to another fake")
            return conversation._record
        if not isinstance(conversation, str):
            raise TypeError(
                f"conversation must be a conversation or a hex id, not {conversation!r}"
            )
        if not conversation or not set(conversation) <= set("0123456789abcdefABCDEF"):
            raise ValueError(
                f"a conversation's id is a hex string such as 'c0ffee', and {conversation!r} is not"
            )
        return str.__str__(conversation)  # of an enumeration's member, too

    def _person(self, to: str | Recipient | None) -> Recipient:
        if isinstance(to, Recipient):
            return to
        if to is None:
            to = _DEFAULT_RECIPIENT.address
        known = self._recipients.get(text(to, "to"))
        if known is not None:
            return known
        return _DEFAULT_RECIPIENT if to == _DEFAULT_RECIPIENT.address else Recipient(to)

    def _price(self, price: Price) -> Decimal | Callable[[MessageState], Decimal]:
        if not callable(price):
            return exact(price, "price")
        engine = self._engine

        def ask(message: MessageState) -> Decimal:
            with engine.pricing():
                found = price(Message(engine, message))
            return exact(found, "the amount that the price function returned")

        return ask

    def _extra(self, extra: Mapping[str, object] | None) -> str:
        if extra is None:
            return ""
        if not isinstance(extra, Mapping):
            raise TypeError(f"extra must be a mapping of field names to values, not {extra!r}")
        taken = sorted(set(extra) & self.config.naming._message_keys)
        if taken:
            raise ValueError(
                f"extra can't replace {', '.join(map(repr, taken))}: these fields are specified. "
                f"To send them changed, see fake.webhooks.emit()."
            )
        return members(extra)
