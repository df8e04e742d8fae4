"""The account: every verb of the service, its rules, and nothing else.

A verb takes ``now`` (nanoseconds since the epoch), refuses or changes the state as a whole, and
returns the facts. It never does half of its work: whatever can be refused is refused first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..base.errors import ClosedError, IllegalTransition
from .conversations import Conversation, Conversations
from .facts import Fact, Failure
from .instants import stamp
from .ledger import Ledger, LedgerEntry
from .messages import MessageState, next_state
from .money import EXACT, ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from decimal import Decimal
    from typing import TypeAlias

    from .ids import Ids
    from .messages import State, Verb
    from .schedule import Schedule

__all__ = ["Account", "Change", "Draft", "Rules"]

#: Something to do to an account at a moment, in nanoseconds; it gives the facts.
Change: TypeAlias = "Callable[[Account, int], Iterable[Fact]]"


class Rules(NamedTuple):
    """The knobs that the rules have.

    Attributes:
        origin_type: The origin type of conversations where none is asked for (§2.4).
        conversation_length: How long a session lasts, in nanoseconds (§8: 24 hours).
        drop_after: After how long an undelivered message is dropped (§8: 30 days).
        on_insufficient_balance: Whether a message that the balance can't hold is accepted
            all the same, or fails before it is sent (assumed).
        insufficient_balance: How such a message fails.
    """

    origin_type: str
    conversation_length: int
    drop_after: int
    on_insufficient_balance: Literal["allow", "fail"]
    insufficient_balance: Failure


class Draft(NamedTuple):
    """What was asked for a message beside the message itself, to be decided when it is accepted.

    Attributes:
        conversation: A conversation that exists, the id of one, or None: the service finds it.
        origin_type: None: the conversation's, or the default.
        price: What starting a conversation with it costs: an amount, or a function that is asked
            when the message is accepted.
    """

    conversation: Conversation | str | None
    origin_type: str | None
    price: Decimal | Callable[[MessageState], Decimal]


class Account:
    """One account of the service: its messages, its conversations and its money.

    Args:
        rules: The knobs.
        ids: Who writes the identifiers.
        schedule: Where the drops of undelivered messages are planned.
        opening_balance: What the account begins with.
        now: When it begins.
    """

    def __init__(
        self,
        rules: Rules,
        ids: Ids,
        schedule: Schedule,
        opening_balance: Decimal,
        now: int,
    ) -> None:
        self.messages: list[MessageState] = []
        self.conversations = Conversations(ids)
        self.ledger = Ledger()
        self._rules = rules
        self._ids = ids
        self._schedule = schedule
        self.ledger.post(LedgerEntry("opening", opening_balance, now))

    def find(self, id_: str) -> MessageState | None:
        """Return the message of that id, if there is one."""
        number = self._ids.number(id_)
        if not 0 < number <= len(self.messages):
            return None
        message = self.messages[number - 1]
        return message if message.id == id_ else None

    # Submission: §3, first row, and rule 4

    def accept(self, message: MessageState, draft: Draft, now: int) -> Fact:
        """Take the message and send it; or fail it, if the balance is too low and must not be."""
        state = next_state(message, "accept")
        conversation = self._conversation(message, draft, now)
        price = self._price(message, draft, conversation)
        if callable(draft.price):  # it took its time, and other threads may have sent meanwhile
            state = next_state(message, "accept")
            conversation = self._conversation(message, draft, now)
        estimate = price if conversation.started_at is None else ZERO
        if (
            estimate
            and self._rules.on_insufficient_balance == "fail"
            and EXACT.compare(estimate, self.ledger.available) > 0
        ):
            return self.reject(message, self._rules.insufficient_balance, now)

        self._register(message)
        if message.created_at is None:
            message.created_at = now
        message.state = state
        message.conversation = conversation
        message.price = price
        message.total_price = message.held = estimate
        message.sent_at = now
        message.drop = self._schedule.add(now + self._rules.drop_after, partial(self.drop, message))
        self.conversations.use(conversation)
        entries = (self._entry("hold", estimate, message, now),) if estimate else ()
        expires_at = conversation.expires_at or now + self._rules.conversation_length
        return self._record(Fact("sent", message, now, entries, expires_at))

    def reject(self, message: MessageState, failure: Failure, now: int) -> Fact:
        """Turn the message down: it fails before it is sent (§3 rule 4)."""
        message.state = next_state(message, "reject")
        message.failure = failure
        self._register(message)
        return Fact("failed", message, now)

    def _register(self, message: MessageState) -> None:
        message.name(len(self.messages) + 1, self._ids)
        self.messages.append(message)

    def _price(self, message: MessageState, draft: Draft, conversation: Conversation) -> Decimal:
        if not callable(draft.price):
            return draft.price
        # The function sees the message as it will be; if it raises, nothing has happened yet.
        message.name(len(self.messages) + 1, self._ids)
        message.conversation = conversation
        try:
            return draft.price(message)
        finally:
            if message.state == "submitted":  # nobody was faster, in another thread
                message.unname()
                message.conversation = None

    def _conversation(self, message: MessageState, draft: Draft, now: int) -> Conversation:
        """Find the conversation of a message, or make one that is not registered yet.

        Messages to the same recipient with the same origin type share a conversation while it is
        pending or open; of several, the one that was used last (assumed).
        """
        wanted = draft.conversation
        origin_type = draft.origin_type or self._rules.origin_type
        if wanted is None:
            current = self.conversations.current(message.recipient, origin_type, now)
            return current or Conversation(
                self.conversations.new_id(), message.recipient, origin_type
            )
        found = self.conversations.find(wanted if isinstance(wanted, str) else wanted.id)
        if isinstance(wanted, Conversation) and found is not wanted:
            raise ClosedError(
                f"conversation {wanted.id} is gone: it was begun before the fake was reset"
            )
        if found is None:
            assert isinstance(wanted, str)
            return Conversation(wanted, message.recipient, origin_type)
        if draft.origin_type is not None and draft.origin_type != found.origin_type:
            raise ValueError(
                f"conversation {found.id} has the origin type {found.origin_type!r}: leave "
                f"origin_type={draft.origin_type!r} out, or the conversation"
            )
        if found.state(now) == "expired":
            assert found.expires_at is not None
            raise IllegalTransition(
                f"a message can't be sent into conversation {found.id}: its session is over since "
                f"{stamp(found.expires_at)}. Leave conversation= out to start a new one, or give "
                f"a new id. Nothing was changed."
            )
        return found

    # What happens on the handset: §3

    def deliver(
        self, message: MessageState, devices: int | None, price: Decimal | None, now: int
    ) -> list[Fact]:
        """Deliver to that many devices more; None: to all that do not have the message yet.

        ``price`` is the final one, if it differs from the estimate. Only the first delivery of a
        conversation is charged (§1).
        """
        state = self._next_state(message, "deliver")
        count = message.missing_devices if devices is None else devices
        first = self._arrive("delivered", message, price, now)
        message.state = state
        message.delivered_devices += count
        facts = [first]
        facts += [Fact("delivered", message, now, (), first.expires_at)] * (count - 1)
        return facts

    def read(self, message: MessageState, now: int) -> list[Fact]:
        """Let the user read the message; at once, if it was not delivered before (§3).

        Without read receipts the service does not learn of it (§3 rule 3): a message that was
        still sent is seen to be delivered, and nothing more (assumed).
        """
        state = self._next_state(message, "read")
        if not message.read_receipts:
            return self.deliver(message, 1, None, now) if message.state == "sent" else []
        if message.state == "sent":
            message.delivered_devices = 1
        fact = self._arrive("read", message, None, now)
        message.state = state
        message.read_at = now
        return [fact]

    def fail(self, message: MessageState, failure: Failure, now: int) -> Fact:
        """Fail a message that was sent: what is held for it comes back, nothing is charged."""
        message.state = self._next_state(message, "fail")
        message.failure = failure
        message.total_price = ZERO
        self._cancel_drop(message)
        return self._record(Fact("failed", message, now, self._release(message, now)))

    def drop(self, message: MessageState, now: int) -> None:
        """Drop a message that was never delivered: its hold comes back, and no event tells (§3)."""
        message.state = next_state(message, "drop")
        message.dropped_at = now
        message.drop = None
        for entry in self._release(message, now):
            self.ledger.post(entry)

    def _next_state(self, message: MessageState, verb: Verb) -> State:
        self.refuse_stale(message)
        return next_state(message, verb)

    def refuse_stale(self, message: MessageState) -> None:
        """Refuse a message of an earlier account, whose id one of this account's may have.

        Raises:
            ClosedError: It is one.
        """
        number = message.number
        if number > len(self.messages) or (number and self.messages[number - 1] is not message):
            raise ClosedError(
                f"message {message.id} is gone: it was sent before the fake was reset"
            )

    def _arrive(
        self,
        what: Literal["delivered", "read"],
        message: MessageState,
        price: Decimal | None,
        now: int,
    ) -> Fact:
        """Note that the message is on a device: the first time, money moves."""
        conversation = message.conversation
        assert conversation is not None
        if message.delivered_at is not None:
            return Fact(what, message, now, (), conversation.expires_at)
        message.delivered_at = now
        self._cancel_drop(message)
        entries = self._release(message, now)
        if conversation.started_at is None:
            conversation.start(now, self._rules.conversation_length)
            charge = message.price if price is None else price
            message.total_price = message.charged = charge
            if charge:
                entries += (self._entry("charge", charge, message, now),)
        else:
            message.total_price = ZERO
        return self._record(Fact(what, message, now, entries, conversation.expires_at))

    # Money

    def top_up(self, amount: Decimal, now: int) -> tuple[Fact, ...]:
        """Add to the balance (assumed). No message is concerned, so there is no fact."""
        self.ledger.post(LedgerEntry("top_up", amount, now))
        return ()

    def set_balance(self, available: Decimal, now: int) -> tuple[Fact, ...]:
        """Make what is available that much, by an adjustment (assumed)."""
        difference = EXACT.subtract(available, self.ledger.available)
        if difference:
            self.ledger.post(LedgerEntry("adjustment", difference, now))
        return ()

    def _release(self, message: MessageState, now: int) -> tuple[LedgerEntry, ...]:
        held = message.held
        if not held:
            return ()
        message.held = ZERO
        return (self._entry("release", held, message, now),)

    def _entry(
        self,
        kind: Literal["hold", "release", "charge"],
        amount: Decimal,
        message: MessageState,
        now: int,
    ) -> LedgerEntry:
        assert message.conversation is not None
        return LedgerEntry(kind, amount, now, message.id, message.conversation.id)

    def _cancel_drop(self, message: MessageState) -> None:
        assert message.drop is not None
        self._schedule.cancel(message.drop)
        message.drop = None

    def _record(self, fact: Fact) -> Fact:
        for entry in fact.entries:
            self.ledger.post(entry)
        return fact
