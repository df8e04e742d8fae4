"""The account: the service's verbs and their rules.

First, a verb is *decided*: it is refused or turned into facts, without visible changes. Then its
events are written. Then each fact is *applied*, which can't fail. So a verb that fails has changed
nothing.

All moments are nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import attrgetter
from typing import Literal, NamedTuple, cast

from ..base.arguments import cited
from ..base.errors import ClosedError, IllegalTransition
from ..base.growing_index import GrowingIndex
from . import reasons
from .conversations import Conversations, ConversationState
from .facts import Fact
from .failure_codes import CATALOGUE, Failure
from .ids import Ids
from .instants import stamp
from .ledger import Ledger, LedgerEntry
from .messages import STATUSES, MessageState, State, state_after
from .money import EXACT, ZERO
from .people import People, PersonState
from .reasons import ChargePer, Rule
from .schedule import Schedule
from .verbs import Accept, Arrive, Deliver, Draft, Fail, MessageVerb, Read, Reject


class Rules(NamedTuple):
    """The settings of the rules.

    Attributes:
        origin_type: The default origin type of conversations (§2.4).
        conversation_length: How long a session lasts, in nanoseconds (§8: 24 hours).
        drop_after: When an undelivered message is dropped, in nanoseconds after sending (§8: 30
            days).
        charge_per: Whether a conversation is charged, at its first delivery (§1), or each message,
            at its own first delivery (assumed).
        on_insufficient_balance: Whether a message that the balance can't cover is accepted anyway,
            or fails before it is sent (assumed).
        insufficient_balance: The failure of such a message.
    """

    origin_type: str
    conversation_length: int
    drop_after: int
    charge_per: ChargePer
    on_insufficient_balance: Literal["allow", "fail"]
    insufficient_balance: Failure


class Account:
    """One account of the service: its messages, conversations, people and money.

    Args:
        ids: Templates of the identifiers.
        schedule: Where the drops of undelivered messages are scheduled.
        now: When the account opens.
    """

    def __init__(
        self, rules: Rules, ids: Ids, schedule: Schedule, opening_balance: Decimal, now: int
    ) -> None:
        self.messages: list[MessageState] = []
        self.conversations: Conversations = Conversations(ids)
        self.ledger: Ledger = Ledger()
        self.people: People = People(self.messages)
        self._by_id = GrowingIndex(self.messages, attrgetter("id"))
        self._by_conversation = GrowingIndex(self.messages, attrgetter("conversation"))
        self._by_body = GrowingIndex(self.messages, attrgetter("body"))
        self._rules = rules
        self._ids = ids
        self._schedule = schedule
        self.ledger.post(LedgerEntry("opening", opening_balance, now))

    def find(self, id_: str) -> MessageState | None:
        return self._by_id.first(id_)

    def numbered(self, number: int) -> MessageState | None:
        """Return the message with this number (from 1), if any."""
        return self.messages[number - 1] if 0 < number <= len(self.messages) else None

    def messages_in(self, conversation: ConversationState) -> Sequence[MessageState]:
        return self._by_conversation.all(conversation)

    def messages_with(self, body: str) -> Sequence[MessageState]:
        """Return the messages with a text, in order."""
        return self._by_body.all(body)

    def decide(self, verb: MessageVerb, now: int) -> list[Fact]:
        """Return the facts of a verb, without visible changes.

        A submission's ids, conversation and price are set as proposals, because its events show
        them. If the verb fails later, ``MessageState.withdraw()`` takes them back.

        Raises:
            IllegalTransition: §3 does not allow the verb in this state, or the person can't be
                reached.
            ClosedError: The message is from before a reset.
            ValueError: The conversation has another origin type.
        """
        message = verb.message
        self.check_current(message)
        match verb:
            case Accept():
                return self._accept(message, now, verb.draft)
            case Reject():
                return self._reject(message, now, verb.failure)
            case Deliver():
                return self._deliver(message, now, verb.devices, verb.price)
            case Arrive():
                return self._arrive(message, now)
            case Read():
                return self._read(message, now)
            case Fail():
                return self._fail(message, now, verb.failure)

    # Submission: §3, first row, and rule 4

    def _accept(self, message: MessageState, now: int, draft: Draft) -> list[Fact]:
        sent = state_after(message, "accept")
        conversation = message.conversation = self._conversation(message, draft, now)
        price = draft.price if message.price is None else message.price
        if callable(price):
            # For the function, which may read the id.
            message.name(len(self.messages) + 1, self._ids)
            price = price(message)
            # While the function ran, another thread may have sent a message.
            sent = state_after(message, "accept")
            conversation = message.conversation = self._conversation(message, draft, now)
        message.price = price
        is_priced = self._is_priced(conversation)
        estimate = price if is_priced else ZERO
        if (
            estimate
            and self._rules.on_insufficient_balance == "fail"
            and EXACT.compare(estimate, self.ledger.available) > 0
        ):
            too_dear = reasons.TOO_DEAR[draft.assumed]
            return self._reject(message, now, self._rules.insufficient_balance, too_dear)
        message.name(len(self.messages) + 1, self._ids)
        expires_at = self._expiry(conversation, now)
        way: reasons.Joining = "new"
        if conversation.begun:
            way = "joined" if draft.conversation is None else "given"
        held, free, in_session = reasons.SENT[self._rules.charge_per, way, draft.assumed]
        rule = free if is_priced else in_session
        entries: tuple[LedgerEntry, ...] = ()
        if estimate:
            rule = held
            entries = (LedgerEntry("hold", estimate, now, message),)
        return [Fact(sent, message, now, rule, estimate, conversation, expires_at, entries)]

    def _reject(
        self, message: MessageState, now: int, failure: Failure, rule: Rule = reasons.REJECTED
    ) -> list[Fact]:
        failed = state_after(message, "reject")
        message.conversation = None
        message.name(len(self.messages) + 1, self._ids)
        return [Fact(failed, message, now, rule, ZERO, failure=failure)]

    def _is_priced(self, conversation: ConversationState) -> bool:
        return conversation.started_at is None or self._rules.charge_per == "message"

    def _conversation(self, message: MessageState, draft: Draft, now: int) -> ConversationState:
        # Messages to the same recipient with the same origin type share a conversation while it is
        # pending or open; of several, the one that was used last (assumed).
        wanted, proposed = draft.conversation, message.conversation
        origin_type = draft.origin_type or self._rules.origin_type
        if wanted is None:
            found = self.conversations.current(message.recipient, origin_type, now)
            if found is not None:
                return found
            if proposed is not None and self.conversations.find(proposed.id) is None:
                return proposed
            return self.conversations.propose(message.recipient, origin_type)
        if isinstance(wanted, ConversationState):
            self.check_conversation(wanted)
            wanted = wanted.id
        found = self.conversations.find(wanted)
        if found is None:
            return proposed or ConversationState(wanted, message.recipient, origin_type)
        if draft.origin_type is not None and draft.origin_type != found.origin_type:
            raise ValueError(
                f"conversation {found.id} has origin type {cited(found.origin_type)}, "
                f"not {cited(draft.origin_type)}. Omit origin_type= or conversation=."
            )
        if found.state(now) == "expired":
            assert found.expires_at is not None
            raise IllegalTransition(
                f"conversation {found.id} expired at {stamp(found.expires_at)}. "
                f"Omit conversation= to start a new one."
            )
        return found

    # On the handset: §3

    def _deliver(
        self,
        message: MessageState,
        now: int,
        devices: int | None,
        price: Decimal | None,
    ) -> list[Fact]:
        # Reaches that many more devices, or all that don't have the message yet. A final price only
        # matters if this arrival is charged.
        delivered = state_after(message, "deliver")
        person = self.people.get(message.recipient)
        if person is not None:
            person.check_reachable(message, "deliver", arrives=True)
        if devices is None:
            devices = max(self.devices_left(message), 1)
        first = self._arrival(delivered, message, now, price, reasons.DELIVERED)
        facts = [first]
        if devices > 1:
            again = replace(first, entries=(), rule=reasons.ANOTHER_DEVICE)
            facts += [again] * (devices - 1)
        return facts

    def devices_left(self, message: MessageState) -> int:
        """Return how many of the recipient's devices don't have a message yet."""
        person = self.people.get(message.recipient)
        return (1 if person is None else person.devices) - message.delivered_devices

    def _read(self, message: MessageState, now: int) -> list[Fact]:
        # A message that is still sent is delivered and read at once (§3). Without read receipts,
        # the service doesn't learn that it was read (§3 rule 3), only that it arrived (assumed).
        state_after(message, "read")
        person = self.people.get(message.recipient)
        if person is not None:
            person.check_reachable(message, "read", arrives=message.state == "sent")
        return self._reading(message, now, person)

    def _reading(self, message: MessageState, now: int, person: PersonState | None) -> list[Fact]:
        if person is None or person.read_receipts:
            read = state_after(message, "read")
            return [self._arrival(read, message, now, None, reasons.READ_AT_ONCE)]
        if message.state != "sent":
            return []
        delivered = state_after(message, "deliver")
        return [self._arrival(delivered, message, now, None, reasons.READ_IN_PRIVATE)]

    def _arrive(self, message: MessageState, now: int) -> list[Fact]:
        # The person can be reached again (§3 rule 2).
        person = self.people[message.recipient]
        if person.chat_open:
            return self._reading(message, now, person)
        return self._deliver(message, now, None, None)

    def _fail(self, message: MessageState, now: int, failure: Failure) -> list[Fact]:
        failed = state_after(message, "fail")
        entries = self._released(message, now)
        rule = reasons.FAILED if entries else reasons.FAILED_FREE
        return [Fact(failed, message, now, rule, ZERO, None, None, entries, failure)]

    def dropped(self, message: MessageState, now: int) -> Fact:
        """Return the fact of a message's drop."""
        dropped, entries = state_after(message, "drop"), self._released(message, now)
        rule, price, conversation = reasons.DROPPED, message.total_price, message.conversation
        return Fact(dropped, message, now, rule, price, conversation, None, entries)

    def check_current(self, message: MessageState) -> None:
        """Refuse a message from before a reset, even if a current one has the same id."""
        if message.account not in (None, self):
            what, done = "this submission", "made"
            if message.is_known:
                what, done = f"message {message.id}", "sent"
            raise ClosedError(f"{what} no longer exists: the fake was reset after it was {done}")

    def check_conversation(self, conversation: ConversationState) -> None:
        """Refuse a conversation from before a reset, even if a current one has the same id."""
        if self.conversations.find(conversation.id) is not conversation:
            raise ClosedError(
                f"conversation {conversation.id} no longer exists: the fake was reset after it "
                f"began"
            )

    def check_person(self, address: str, account: Account) -> None:
        """Refuse a person of another account: one from before a reset."""
        if account is not self:
            raise ClosedError(
                f"recipient {address} no longer exists: the fake was reset after it was made. "
                f"Call chat_fake.recipient({address!r}) again."
            )

    def _arrival(
        self,
        what: State,
        message: MessageState,
        now: int,
        price: Decimal | None,
        first: Mapping[reasons.Outcome, Rule],
    ) -> Fact:
        # Only a message's first arrival moves money.
        conversation = message.conversation
        assert conversation is not None
        expires_at = conversation.expires_at
        if message.delivered_at is not None:
            rule = reasons.READ if what == "read" else reasons.ANOTHER_DEVICE
            return Fact(what, message, now, rule, message.total_price, conversation, expires_at)
        entries, charge = self._released(message, now), ZERO
        if self._is_priced(conversation):
            assert message.price is not None
            charge = message.price if price is None else price
            outcome = "free" if not charge else "first" if price is None else "final"
            if charge:
                entries += (LedgerEntry("charge", charge, now, message),)
        elif conversation.state(now) == "expired":
            outcome = "late"
        else:
            outcome = "held" if entries else "later"
        if expires_at is None:  # pending, so this delivery starts the session (§1)
            expires_at = now + self._rules.conversation_length
        if self._rules.charge_per == "message":
            outcome = f"each-{outcome}"
        return Fact(what, message, now, first[outcome], charge, conversation, expires_at, entries)

    def _released(self, message: MessageState, now: int) -> tuple[LedgerEntry, ...]:
        return (LedgerEntry("release", message.held, now, message),) if message.held else ()

    def synthetic(self, message: MessageState, status: str, now: int) -> Fact:
        """Return the fact for an event with any status, whatever the message's state.

        A moment that the message does not have yet is ``now``: a receiver that needs
        ``deliverTime`` should stumble over the status, not over a missing field. If the message did
        not fail, the error is 131026; an unknown status has the fields of ``sent`` (assumed).
        """
        conversation, expires_at = message.conversation, None
        if conversation is not None:
            assert message.sent_at is not None
            expires_at = self._expiry(conversation, message.sent_at)
        return Fact(
            cast("State", status) if status in STATUSES else "sent",
            message,
            now,
            reasons.SYNTHETIC,
            message.total_price,
            conversation,
            expires_at,
            failure=message.failure or Failure("131026", CATALOGUE["131026"], None),
        )

    def _expiry(self, conversation: ConversationState, sent_at: int) -> int:
        # An estimate while the conversation is pending (§2.4).
        known = conversation.expires_at
        return sent_at + self._rules.conversation_length if known is None else known

    # Applying

    def apply(self, fact: Fact) -> None:
        """Change the message, conversation and ledger as a fact says; this can't fail."""
        message, what = fact.message, fact.what
        for entry in fact.entries:
            self.ledger.post(entry)
        if what == "sent":
            self._begin(fact, message)
        elif what in {"failed", "dropped"}:
            self._end(fact, message)
        else:
            self._reach(fact, message)
        message.state = what

    def _begin(self, fact: Fact, message: MessageState) -> None:
        conversation = fact.conversation
        assert conversation is not None
        self.messages.append(message)
        message.account = self
        self.conversations.use(conversation)
        message.sent_at = fact.at
        message.conversation = conversation
        message.total_price = message.held = fact.total_price
        person = self.people.get(message.recipient)
        if person is not None:
            message.undeliverable = person.blocked or person.withheld
        message.drop = self._schedule.add(fact.at + self._rules.drop_after, "drop", message)

    def _reach(self, fact: Fact, message: MessageState) -> None:
        if message.delivered_at is None:
            self._reach_first(fact, message)
        if fact.what == "read":
            message.read_at = fact.at
        else:
            message.delivered_devices += 1

    def _reach_first(self, fact: Fact, message: MessageState) -> None:
        conversation = fact.conversation
        assert conversation is not None
        message.delivered_at = fact.at
        message.held = ZERO
        message.total_price = message.charged = fact.total_price
        if conversation.started_at is None:
            conversation.started_at = fact.at
            conversation.expires_at = fact.expires_at
            message.has_started_session = True
        self._cancel_drop(message)

    def _end(self, fact: Fact, message: MessageState) -> None:
        if message.state == "submitted":
            self.messages.append(message)
            message.account = self
        message.held = ZERO
        if fact.what == "dropped":
            message.drop = None
        else:
            self._cancel_drop(message)
            message.failure = fact.failure
            message.total_price = ZERO

    def _cancel_drop(self, message: MessageState) -> None:
        if message.drop is not None:
            self._schedule.cancel(message.drop)
            message.drop = None
