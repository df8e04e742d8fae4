"""People and their phones, as §3 describes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ..base.errors import IllegalTransition
from ..base.growing_index import GrowingIndex
from .facts import Fact
from .failure_codes import failure
from .messages import MessageState
from .verbs import Arrive, Fail, MessageVerb, Read


class PersonState(NamedTuple):
    """The person behind an address, as described by the test; a change makes a new one."""

    address: str
    devices: int = 1
    read_receipts: bool = True  # whether the service learns about reading (§3 rule 3)
    online: bool = True
    blocked: bool = False  # the person has blocked the sender
    chat_open: bool = False  # messages are read as they arrive
    registered: bool = True  # the number has an account on the channel
    withheld: bool = False  # the platform's limits hold messages back (§3 rule 2)

    @property
    def is_reachable(self) -> bool:
        """Whether a message sent now can reach a device."""
        return self.online and self.registered and not (self.blocked or self.withheld)

    @property
    def contradiction(self) -> str | None:
        """Why this state is impossible, as a sentence; None if it is possible."""
        if self.chat_open and not self.online:
            return "a phone that is off has no open chat. Call comes_online() first"
        if self.chat_open and not self.registered:
            return (
                "a number that is not registered has no open chat. Write "
                "recipient(..., registered=True) or call closes_chat() first"
            )
        return None

    def obstacle(self, *, arrives: bool) -> str | None:
        """Why a message can't arrive or be read on a device, as a sentence; None if it can.

        A message that is already on a device can be read even if the person has blocked the sender
        since (§3 rule 2).
        """
        call = f"Call recipient({self.address!r}"
        if not self.registered:
            return f"{self.address} is not registered. {call}, registered=True)"
        if not self.online:
            return f"the phone of {self.address} is off. {call}).comes_online()"
        if self.blocked and arrives:
            return f"{self.address} has blocked the sender. {call}).unblocks()"
        if self.withheld and arrives:
            return f"messages to {self.address} are withheld. {call}, withheld=False)"
        return None

    def check_writing(self, what: str) -> None:
        """Refuse to let the person write, for example while the phone is off (assumed).

        The platform's limits on messages *to* the person are no obstacle.
        """
        if (obstacle := self._replace(withheld=False).obstacle(arrives=True)) is not None:
            raise IllegalTransition(f"can't call {what}: {obstacle} first.")

    def check_reachable(self, message: MessageState, verb: str, *, arrives: bool) -> None:
        """Refuse a verb that the person's state rules out; the error says how to change either."""
        if (obstacle := self.obstacle(arrives=arrives)) is not None:
            raise IllegalTransition(
                f"can't {verb} message {message.id}: it is {message.state}, but {obstacle} first, "
                f"or omit {verb}()."
            )


class PersonFact(NamedTuple):
    """What a person does, or how the test describes one.

    Attributes:
        before: The person before.
        after: The person from now on.
        at: When it happened, in nanoseconds since the epoch.
        done: The fields that the person has set; empty for a description. Whoever opens an open
            chat looks at it again, while a description only says how things are.
    """

    before: PersonState
    after: PersonState
    at: int
    done: frozenset[str] = frozenset()


#: What a person can do to become reachable.
_OPENS_THE_WAY: Final = frozenset({"online", "blocked"})

#: The failure of messages to a number that is not registered (§7.2).
_NOT_REGISTERED = failure("131026")


class People(dict[str, PersonState]):
    """The people that the test described, by address, and how they react (§3).

    Everybody else has one device, is online and sends read receipts.
    """

    def __init__(self, messages: Sequence[MessageState]) -> None:
        self._by_address = GrowingIndex(messages, attrgetter("recipient"))

    def messages_to(self, address: str) -> Sequence[MessageState]:
        return self._by_address.all(address)

    def decide(
        self, what: str, address: str, changes: Mapping[str, Any], now: int, *, is_done: bool
    ) -> PersonFact:
        """Return the change that a call such as ``goes_offline()`` asks for, and change nothing."""
        before = self.get(address) or PersonState(address)
        after = before._replace(**changes)
        if (contradiction := after.contradiction) is not None:
            raise IllegalTransition(f"can't call {what} for {address}: {contradiction}.")
        return PersonFact(before, after, now, frozenset(changes if is_done else ()))

    def apply(self, fact: PersonFact) -> None:
        self[fact.after.address] = fact.after

    def follow_ups(self, fact: Fact | PersonFact) -> Iterator[MessageVerb]:
        """Yield the verbs that people perform by themselves after a fact was applied.

        Perform each verb before you ask for the next. An open chat reads messages at once. A
        message to a number that is not registered fails. A person who becomes reachable gets the
        messages that are still sent, except those sent while the person blocked the sender or was
        withheld, and those that a script will deliver (assumed).
        """
        if isinstance(fact, PersonFact):
            yield from self._reactions(fact)
            return
        message = fact.message
        person = self.get(message.recipient)
        if person is None:
            return
        if fact.what == "sent" and not person.registered:
            yield Fail(message, _NOT_REGISTERED)
        elif person.chat_open and not (message.undeliverable and fact.what == "sent"):
            yield from self._reading([message])

    def _reactions(self, fact: PersonFact) -> Iterator[MessageVerb]:
        before, person = fact.before, fact.after
        if person.is_reachable and (not before.is_reachable or _OPENS_THE_WAY & fact.done):
            for message in self.messages_to(person.address):
                if message.state == "sent" and not (message.undeliverable or _is_scripted(message)):
                    yield Arrive(message)
        if person.chat_open and (not before.chat_open or "chat_open" in fact.done):
            yield from self._reading(
                message
                for message in self.messages_to(person.address)
                if message.state == "delivered"
            )

    def _reading(self, messages: Iterable[MessageState]) -> Iterator[MessageVerb]:
        for message in messages:
            if message.state in {"sent", "delivered"} and not _is_scripted(message):
                yield Read(message)


def _is_scripted(message: MessageState) -> bool:
    # As long as an arrival is pending, the script decides when the message arrives and is read.
    return any((message.script or {}).values())
