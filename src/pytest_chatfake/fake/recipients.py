"""Recipients: handles of the people at the other end."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Self

from ..base.arguments import check_str
from ..base.escaping import one_line
from ..domain.people import PersonState
from ..engine.engine import Engine
from ..engine.verbs import Describe
from .inbound import writing


class Recipient:
    """A person who receives messages (§3); until a reset, an address has one ``Recipient``.

    Example::

        ada = chat_fake.recipient("+15550100", devices=2).goes_offline()
        message = chat_fake.send_text("Hello", to=ada)
        ada.comes_online()
        assert message.status == "delivered"

    Changes also affect messages that are already on their way. The verbs return the recipient;
    ``await`` them in async mode. Using the object after a reset raises ``ClosedError``.
    """

    __slots__ = ("_account", "_address", "_engine")

    def __init__(self, engine: Engine, address: str) -> None:
        self._engine = engine
        self._address = address
        self._account = engine.account

    def __repr__(self) -> str:
        return one_line(f"<Recipient {self._address}>")

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from self._engine.performer.perform().__await__()
        return self

    # Verbs (§3)

    def goes_offline(self) -> Self:
        """Turn the phone off: the chat closes, and nothing arrives (§3 rule 2)."""
        return self._change("goes_offline()", online=False, chat_open=False)

    def comes_online(self) -> Self:
        """Turn the phone on: messages that are still ``sent`` are delivered, in order.

        Nothing arrives while the person blocks the sender, or while messages to the person are
        withheld. Messages sent during that time don't arrive by themselves later (assumed). If a
        message has a script, the script delivers it, not the phone (assumed).
        """
        return self._change("comes_online()", online=True)

    def blocks(self) -> Self:
        """Have the person block the sender (§3 rule 2).

        Messages that are sent while the sender is blocked don't arrive by themselves later
        (assumed).
        """
        return self._change("blocks()", blocked=True)

    def unblocks(self) -> Self:
        """Unblock the sender: messages from before the block are delivered, in order (assumed).

        If the chat is open, the messages are read right away.
        """
        return self._change("unblocks()", blocked=False)

    def opens_chat(self) -> Self:
        """Open the chat: delivered messages are read, and new ones are read on arrival.

        Messages that a script delivers or reads later are left alone (assumed).

        Raises:
            IllegalTransition: The phone is off, or the number is not registered.
        """
        return self._change("opens_chat()", chat_open=True)

    def closes_chat(self) -> Self:
        """Close the chat: new messages are no longer read on arrival."""
        return self._change("closes_chat()", chat_open=False)

    def writes(self, text: str, /, **fields: object) -> Self:
        """Have the person write you a text, which emits an event and costs nothing (assumed).

        Your own address is ``ChatFakeConfig(sender=)``. The event goes to endpoints that listen for
        its type, so connect the app with ``events="*"``. It starts no conversation.
        ``ChatFakeConfig(inbound=)`` gives the event another shape.

        Args:
            text: The text.
            **fields: Fields to add to the resource, or to replace, with JSON values.

        Raises:
            IllegalTransition: The phone is off, the number is not registered, or the person has
                blocked the sender.
        """
        return self._write("writes()", "text", {"body": check_str(text, "text")}, fields)

    def sends(
        self,
        type: str,  # noqa: A002 - as §2.3 names it
        content: Mapping[str, object],
        /,
        **fields: object,
    ) -> Self:
        """Have the person send you a message of any type, such as an image (assumed).

        ``content`` is the JSON object under the key named after the type, such as ``image``. Other
        arguments and errors are as for :meth:`writes`.
        """
        return self._write("sends()", type, content, fields)

    def _write(self, what: str, *message: Any) -> Self:
        verb = writing(self._engine, self._account, self._address, None, *message)
        self._engine.perform(verb, what)
        return self

    def _change(self, what: str, **changes: Any) -> Self:
        self._describe(what, changes, is_done=True)
        return self

    def _describe(self, what: str, changes: dict[str, Any], *, is_done: bool = False) -> None:
        self._engine.account.check_person(self._address, self._account)
        verb = Describe(None, self._account, self._address, changes, is_done)
        self._engine.perform(verb, what, at_once=not is_done)

    # Properties

    def _known(self) -> PersonState:
        self._engine.ensure_readable()
        self._engine.account.check_person(self._address, self._account)
        return self._account.people.get(self._address) or PersonState(self._address)

    @property
    def address(self) -> str:
        """The address that messages go to."""
        return self._address

    @property
    def devices(self) -> int:
        """How many devices the person uses; ``deliver()`` reaches all of them."""
        return self._known().devices

    @property
    def read_receipts(self) -> bool:
        """Whether the service learns when the person reads (§3 rule 3)."""
        return self._known().read_receipts

    @property
    def online(self) -> bool:
        """Whether the phone is on."""
        return self._known().online

    @property
    def blocked(self) -> bool:
        """Whether the person has blocked the sender."""
        return self._known().blocked

    @property
    def chat_open(self) -> bool:
        """Whether the chat is on the person's screen."""
        return self._known().chat_open

    @property
    def registered(self) -> bool:
        """Whether the number is registered on the channel."""
        return self._known().registered

    @property
    def withheld(self) -> bool:
        """Whether the platform's limits hold back messages to the person (§3 rule 2)."""
        return self._known().withheld


def address_of(to: object, engine: Engine) -> str:
    if not isinstance(to, Recipient):
        return check_str(to, "to")
    if to._engine is not engine:
        raise ValueError(f"{to!r} belongs to another fake")
    engine.account.check_person(to.address, to._account)
    return to.address
