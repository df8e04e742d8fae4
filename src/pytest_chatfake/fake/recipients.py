"""The people at the other end: their handles, and how a test describes them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, Self

from ..base.arguments import check_bool, check_int, check_seed, check_str
from ..base.calling_line import calling_line
from ..base.controls import one_line
from ..base.misspelt import spelt
from ..domain.facts import Verb
from ..domain.messages import MAX_DEVICES
from ..domain.people import PersonRecord
from ..engine.engine import Engine
from ..people.autopilot import Autopilot, Autopilots, Span


@spelt
class Recipient:
    """A person who gets messages: the one live handle of an address (§3).

    What a test says of a person holds from then on, for messages that are on their way, too. The
    verbs return the handle, and need ``await`` in async mode. After a reset the handle is of no use
    any more: whatever it is asked for raises ``ClosedError``.
    """

    __slots__ = ("_address", "_engine", "_people")

    def __init__(self, engine: Engine, address: str) -> None:
        self._engine = engine
        self._address = address
        self._people = engine.account.people

    def __repr__(self) -> str:
        return one_line(f"<Recipient {self._address}>")

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from self._engine.performer.perform().__await__()
        return self

    # What happens to them (§3)

    def goes_offline(self) -> Self:
        """Let the phone be off: nothing arrives (§3 rule 2). It closes the chat."""
        return self._change("goes_offline()", online=False, chat_open=False)

    def comes_online(self) -> Self:
        """Let the phone be on again: what is still sent is delivered, in order.

        What was sent while they had blocked the sender, or were withheld, stays sent, and so does
        what a script delivers later (assumed).

        Raises:
            IllegalTransition: It can't be.
        """
        return self._change("comes_online()", online=True)

    def blocks(self) -> Self:
        """Let them block the sender: what is sent meanwhile stays sent for good (§3 rule 2)."""
        return self._change("blocks()", blocked=True)

    def unblocks(self) -> Self:
        """Let them take the sender back: what was sent before is delivered, in order (assumed)."""
        return self._change("unblocks()", blocked=False)

    def opens_chat(self) -> Self:
        """Let the chat be on their screen: what was delivered is read, and what comes, at once.

        Raises:
            IllegalTransition: The phone is off, or the number is not registered.
        """
        return self._change("opens_chat()", chat_open=True)

    def closes_chat(self) -> Self:
        """Let the chat be off their screen again."""
        return self._change("closes_chat()", chat_open=False)

    def _change(self, what: str, **changes: Any) -> Self:
        self._describe(what, changes)
        return self

    def _describe(self, what: str, changes: dict[str, Any], *, at_once: bool = False) -> None:
        self._people.refuse_gone(self._address, self._engine.account.people)
        verb = Verb("describe", None, (self._people, self._address, changes))
        self._engine.perform(verb, what, at_once=at_once)

    # Who they are

    def _known(self) -> PersonRecord:
        self._engine.ensure_readable()
        self._people.refuse_gone(self._address, self._engine.account.people)
        return self._people.get(self._address) or PersonRecord(self._address)

    @property
    def address(self) -> str:
        """Where messages go."""
        return self._address

    @property
    def devices(self) -> int:
        """How many devices they use; ``deliver()`` reaches all of them."""
        return self._known().devices

    @property
    def read_receipts(self) -> bool:
        """Whether the service learns of reading (§3 rule 3)."""
        return self._known().read_receipts

    @property
    def online(self) -> bool:
        """Whether the phone is on."""
        return self._known().online

    @property
    def blocked(self) -> bool:
        """Whether they have blocked the sender."""
        return self._known().blocked

    @property
    def chat_open(self) -> bool:
        """Whether the chat is on their screen."""
        return self._known().chat_open

    @property
    def registered(self) -> bool:
        """Whether the number is registered on the channel."""
        return self._known().registered

    @property
    def withheld(self) -> bool:
        """Whether the platform's limits hold back what is sent to them (§3 rule 2)."""
        return self._known().withheld


class Described(Protocol):
    """The fake that knows people."""

    _engine: Engine
    _recipients: dict[str, Recipient]
    _autopilots: Autopilots


def recipient(
    fake: Described,
    address: str,
    *,
    devices: int | None = None,
    read_receipts: bool | None = None,
    online: bool | None = None,
    blocked: bool | None = None,
    chat_open: bool | None = None,
    registered: bool | None = None,
    withheld: bool | None = None,
) -> Recipient:
    """Describe a person, and return the one live handle of the address.

    What is given holds from now on, at once in both modes, and the rest stays as it was. At first a
    person has one device with read receipts, which is online.

    Args:
        address: Where messages go; any text.
        devices: How many devices they use, 10,000 at most; ``deliver()`` reaches all of them.
        read_receipts: Whether the service learns of reading (§3 rule 3).
        online: Whether the phone is on; nothing arrives at one that is off (§3 rule 2).
        blocked: Whether they have blocked the sender: what is sent stays sent (§3 rule 2).
        chat_open: Whether the chat is on their screen: what comes is read at once (§3).
        registered: Whether the number is; if not, what is sent fails with 131026 (§7.2).
        withheld: Whether the platform's limits hold back what is sent to them (§3 rule 2).

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: The address is empty, the number of devices is out of range, or the chat would
            be open on a phone that is off.
    """
    engine = fake._engine
    engine.refuse_closed()
    check_str(address, "a recipient's address")
    flags = {
        "read_receipts": read_receipts,
        "online": online,
        "blocked": blocked,
        "chat_open": chat_open,
        "registered": registered,
        "withheld": withheld,
    }
    changes: dict[str, Any] = {name: flag for name, flag in flags.items() if flag is not None}
    for name, flag in changes.items():
        check_bool(flag, name)
    if devices is not None:
        changes["devices"] = check_int(devices, "devices", 1, MAX_DEVICES)
    handle = fake._recipients.get(address) or Recipient(engine, address)
    if changes:
        person = engine.account.people.get(address) or PersonRecord(address)
        if (contradiction := person._replace(**changes).contradiction) is not None:
            raise ValueError(f"recipient() can't make {address} so: {contradiction}")
        handle._describe("recipient()", changes, at_once=True)
    fake._recipients[address] = handle
    return handle


def address_of(to: object, engine: Engine) -> str:
    """Return the address of whom a message goes to.

    Raises:
        TypeError: It is neither an address nor a recipient.
        ValueError: It is empty, or a recipient of another fake.
        ClosedError: The recipient was described before a reset.
    """
    if type(to) is str and to:  # the common case, first because it is on the hot path
        return to
    if not isinstance(to, Recipient):
        return check_str(to, "to")
    if to._engine is not engine:
        raise ValueError(f"{to!r} belongs to another fake")
    to._people.refuse_gone(to.address, engine.account.people)
    return to.address


def autopilot(
    fake: Described,
    *,
    to: str | Recipient | None = None,
    deliver_after: Span | None = None,
    read_after: Span | None = None,
    fail_share: float = 0,
    seed: int | str | None = None,
) -> Autopilot:
    """Let people take delivery, read or fail by themselves, each message at a time of its own.

    It concerns messages that are sent from now on. One for an address beats one for all, and of
    several the latest counts. It leaves messages alone that have a script (``after()``), waits for
    a phone that is off, and never fails a test.

    Args:
        to: Whom it is for: an address or a recipient; None: everybody.
        deliver_after: How long after it was sent a message is delivered: a ``timedelta`` or
            seconds, a pair of them for a uniform range, or a function of a ``random.Random`` that
            returns one. None: it delivers nothing.
        read_after: How long after its delivery a message is read, in the same forms. None: it
            reads nothing.
        fail_share: Which share of the messages fails in place of a delivery, from 0 to 1; at once,
            if nothing is delivered. They fail with 131026 (§7.2).
        seed: What chance is drawn from, with the number of the message; None: the fake's own seed.

    Returns:
        What ends it: ``end()``, or the end of a ``with`` block.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: A length is negative or a range reversed, the share is not from 0 to 1, or the
            recipient belongs to another fake.
    """
    engine = fake._engine
    engine.refuse_closed()
    address = None if to is None else address_of(to, engine)
    if seed is not None:
        check_seed(seed)
    chance = engine.chance if seed is None else str(seed)
    line = calling_line()
    return fake._autopilots.add(address, deliver_after, read_after, fail_share, chance, line)
