"""A second opinion on the service: what it must do, said as plainly as possible.

Nothing here comes from the package. Times are integers (microseconds since the epoch), sums are
fractions, ids are labels (`m0`, `c0`, `e0`) that the comparison ties to real ones. The § of a rule
is given where the rule is; "assumed" marks what the specification leaves open.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .model_life import Life
from .model_types import (
    NOT_REGISTERED,
    SOME_TEXT,
    ZERO,
    Conversation,
    Entry,
    Event,
    Knobs,
    Label,
    Message,
    Refused,
    ScheduledVerb,
    stamp,
)


@dataclass
class Model:
    knobs: Knobs
    now: int
    going_rate: Decimal = Decimal("0.05")
    paths: Counter[str] = field(default_factory=Counter)
    jumps: bool = False  # somebody else moves time, and the fake follows

    def __post_init__(self) -> None:
        self.begin()

    def reset(self) -> None:
        """Begin anew, where time stands: nothing is left of what happened (assumed)."""
        if any(m.state == "sent" for m in self.messages):
            self.took("reset: with messages that wait, which are refused from then on")
        self.begin()

    def begin(self) -> None:
        self.messages: list[Message] = []
        self.conversations: list[Conversation] = []
        self.events: list[Event] = []
        self.ledger = [Entry("opening", self.knobs.opening, self.now)]
        self.totals: defaultdict[str, Fraction] = defaultdict(Fraction)  # by kind of entry
        self.summed = 0  # how many entries are in these
        self.plans = 0
        self.life = Life(self, NOT_REGISTERED, {one.address: one for one in self.knobs.people})

    def took(self, path: str) -> None:
        """Count a path, so that a test can tell that the scripts take all of them."""
        self.paths[path] += 1

    # -- money ---------------------------------------------------------------------------------

    def total_of(self, *kinds: str) -> Fraction:
        for entry in self.ledger[self.summed :]:
            self.totals[entry.kind] += Fraction(entry.amount)
        self.summed = len(self.ledger)
        return sum((self.totals[kind] for kind in kinds), Fraction(0))

    @property
    def held(self) -> Fraction:
        return self.total_of("hold") - self.total_of("release")

    @property
    def charged(self) -> Fraction:
        return self.total_of("charge")

    @property
    def available(self) -> Fraction:
        """A held amount is not part of it (assumed)."""
        return self.total_of("opening", "top_up", "adjustment") - self.held - self.charged

    @property
    def reported(self) -> Fraction:
        """What the balance query returns (§2.1)."""
        return self.available + self.held if self.knobs.report_total else self.available

    def top_up(self, amount: Decimal) -> None:
        if amount <= 0:
            raise Refused("ValueError", "a top-up is more than nothing")
        self.took("top_up")
        self.ledger.append(Entry("top_up", amount, self.now))

    def set_balance(self, target: Decimal) -> None:
        if target < 0:
            raise Refused("ValueError", "a negative balance cannot be set")
        difference = Fraction(target) - self.available
        self.took("adjustment " + ("none" if not difference else "+" if difference > 0 else "-"))
        if difference:
            self.ledger.append(Entry("adjustment", difference, self.now))

    # -- time ----------------------------------------------------------------------------------

    def due(self, message: Message) -> int:
        assert message.sent is not None
        return message.sent + self.knobs.drop_after

    def pending(self) -> list[tuple[int, int, Message | ScheduledVerb]]:
        """What is due when: drops and scheduled verbs; ties go by the order of scheduling."""
        drops = [(self.due(m), m.order, m) for m in self.messages if m.state == "sent"]
        steps = [(one.at, one.order, one) for one in self.life.scheduled]
        return sorted([*drops, *steps], key=lambda due: due[:2])

    def next_due(self) -> int | None:
        return min((due[0] for due in self.pending()), default=None)

    def move_to(self, at: int) -> None:
        """Let happen what is due on the way, each thing at its own time, in order.

        At a step that is illegal time stands, and what else is due then happens at the next look.
        Where somebody else moved time, it has jumped, and all the rest happens.
        """
        assert at >= self.now
        start, moments, refused = self.now, set[int](), None
        while (pending := self.pending()) and pending[0][0] <= at:
            self.now, _, what = pending[0]
            moments.add(self.now)
            if isinstance(what, Message):
                self._drop(what)
                continue
            try:
                self.life.run(what)
            except Refused as error:
                refused = refused or error
                if not self.jumps:
                    at = self.now
        if len(moments) > 1:
            self.took("several due moments in one move")
        self.now = at
        for conversation in self.conversations:
            if conversation.expires is not None and start < conversation.expires <= self.now:
                self.took("conversation expired")
        if refused is not None:
            raise refused

    def _drop(self, message: Message) -> None:
        """What stayed `sent` for 30 days is dropped: no event, no status name (§3 rules 5, 6)."""
        message.dropped = True
        self.took("sent -drop-> dropped")
        self._release(message, self.now)

    # -- sending -------------------------------------------------------------------------------

    def submit(
        self,
        address: str | None,
        content: tuple[str, dict[str, Any]],
        *,
        price: Decimal | None = None,
        origin: str | None = None,
        conversation: Label | str | None = None,
    ) -> Message:
        message = Message(
            Label("m", len(self.messages)),
            address,
            *content,
            self.now,
            price,
            origin,
            conversation,
            True,
        )
        self.messages.append(message)
        return message

    def send(
        self, address: str | None, content: tuple[str, dict[str, Any]], **asked: Any
    ) -> Message:
        message = self.submit(address, content, **asked)
        message.apart = False
        try:
            self.accept(message)
        except Refused:
            self.messages.pop()  # a refused call leaves no message behind
            raise
        return message

    def accept(self, message: Message) -> None:
        self._legal(message, "accept", "submitted")
        found = self._find_conversation(message)
        price = message.asked_price
        if price is None:
            price = self.going_rate if self.knobs.price is None else self.knobs.price
        running = found is not None and found.started is not None
        paid = running and not self.knobs.each_message
        estimate = ZERO if paid else price  # an open session costs nothing more (§1)
        if self.knobs.fail_when_low and estimate > 0 and self.available < Fraction(estimate):
            self.took("submitted -accept-> failed (balance too low)")
            self._fail_before_sent(message, self.knobs.low_balance_code, SOME_TEXT, None)
            return
        if found is None:
            found = self._new_conversation(message)
        self._count_joining(found, running)
        message.status, message.sent, message.conversation = "sent", self.now, found
        message.own_price, message.total, message.sent_into_running = price, estimate, running
        self.plans += 1
        message.order = found.used = self.plans
        self.took("submitted -accept-> sent")
        self.took(f"sent as {message.type}")
        if estimate > 0:
            message.held = estimate
            self._post("hold", estimate, self.now, message)
        self._emit(message)
        self.life.sent(message)

    def reject(self, message: Message, code: str, text: Any, platform_error: Any) -> None:
        self._legal(message, "reject", "submitted")
        self.took("submitted -reject-> failed")
        self._fail_before_sent(message, code, text, platform_error)

    def _fail_before_sent(self, message: Message, code: str, text: Any, platform: Any) -> None:
        """§3 rule 4: no conversation and no times."""
        message.status, message.error = "failed", (code, text, platform)
        self._emit(message)

    def _find_conversation(self, message: Message) -> Conversation | None:
        asked = message.asked_conversation
        if asked is not None:
            known = [one for one in self.conversations if one.label == asked]
            if not known:
                return None
            (conversation,) = known
            if message.asked_origin not in {None, conversation.origin}:
                self.took("refused: origin type of another conversation")
                raise Refused("ValueError", "the conversation has another origin type")
            if conversation.over(self.now):
                self.took("refused: expired conversation")
                raise Refused("IllegalTransition", "the conversation has expired")
            return conversation
        origin = message.asked_origin or self.knobs.origin
        matching = [
            c
            for c in self.conversations
            if (c.address, c.origin) == (message.address, origin) and not c.over(self.now)
        ]
        if len(matching) > 1:
            self.took("grouping: several to choose from")
        return max(matching, key=lambda c: c.used, default=None)  # the one used last (assumed)

    def _new_conversation(self, message: Message) -> Conversation:
        origin = message.asked_origin or self.knobs.origin
        known = [c for c in self.conversations if isinstance(c.label, Label)]
        label = message.asked_conversation or Label("c", len(known))
        conversation = Conversation(label, message.address, origin)
        if any((c.address, c.origin) == (conversation.address, origin) for c in self.conversations):
            self.took("grouping: a new conversation after an expired one")
        self.conversations.append(conversation)
        return conversation

    def _count_joining(self, found: Conversation, running: bool) -> None:
        earlier = [m for m in self.messages if m.conversation is found]
        if not earlier:
            self.took("grouping: first message")
        elif running:
            self.took("grouping: into an open conversation")
        elif all(m.status == "failed" for m in earlier):
            self.took("grouping: into a pending one whose messages all failed")
        elif all(m.state in {"failed", "dropped"} for m in earlier):
            self.took("grouping: into a pending one whose messages are all gone")
        else:
            self.took("grouping: into a pending conversation")
        if earlier and earlier[-1].address != earlier[0].address:
            self.took("grouping: one conversation, two recipients")

    # -- what happens on the handset -----------------------------------------------------------

    def do(self, message: Message, verb: str, arguments: dict[str, Any], error: Any) -> None:
        """What a test tells a message."""
        if verb == "deliver":
            price = arguments.get("price")
            asked = None if price is None else Decimal(str(price))
            self.deliver(message, arguments.get("devices"), asked)
        elif verb in {"fail", "reject"}:
            getattr(self, verb)(message, *error)
        else:
            {"accept": self.accept, "read": self.read_by_user}[verb](message)

    def deliver(
        self,
        message: Message,
        devices: int | None,
        price: Decimal | None,
        *,
        by_itself: bool = False,
    ) -> None:
        self._legal(message, "deliver", "sent", "delivered")
        if not by_itself:
            self.life.check(message, "deliver")
        count = devices or max(1, self.life.of(message).devices - message.devices)
        if message.status == "sent":
            message.status, message.delivered = "delivered", self.now
            self._arrive(message, price)
            self.took("sent -deliver-> delivered")
            if count > 1:
                self.took("sent -deliver-> delivered (several devices)")
        else:
            self.took("delivered -deliver-> delivered (another device)")
        message.devices += count
        for _ in range(count):
            self._emit(message)
        self.life.delivered(message)

    def read_by_user(self, message: Message, *, by_itself: bool = False) -> None:
        self._legal(message, "read", "sent", "delivered")
        if not by_itself:
            self.life.check(message, "read")
        if not self.life.of(message).receipts:  # §3 rule 3
            if message.status == "sent":
                self.took("sent -read-> delivered (no receipts)")
                self.deliver(message, 1, None, by_itself=True)
            else:
                self.took("delivered -read-> delivered (no receipts)")
            return
        self.took(f"{message.status} -read-> read")
        if message.status == "sent":  # at once: no delivered event (§3)
            message.delivered, message.devices = self.now, 1
            self._arrive(message, None)
        message.status, message.read = "read", self.now
        self._emit(message)

    def fail(self, message: Message, code: str, text: Any, platform_error: Any) -> None:
        self._legal(message, "fail", "sent")
        self.took("sent -fail-> failed")
        message.status, message.error, message.total = "failed", (code, text, platform_error), ZERO
        self._release(message, self.now)
        self._emit(message)

    def _arrive(self, message: Message, price: Decimal | None) -> None:
        """A message's first delivery; of a conversation's first, it is the charge (§1, §8).

        Where each message is charged (assumed), it is so in any session.
        """
        conversation = message.conversation
        assert conversation is not None
        self._release(message, self.now)
        message.total = ZERO
        if conversation.started is None:
            conversation.started = self.now
            conversation.expires = self.now + self.knobs.conversation_length
        else:
            running = "open" if message.sent_into_running else "pending"
            over = " and now expired" if conversation.over(self.now) else ""
            each = self.knobs.each_message
            self.took(f"{'a' if each else 'no'} charge: sent while {running}{over}")
            if not each:
                return
        final = message.own_price if price is None else price
        message.total = final
        self.took(
            "charge " + ("at the estimate" if price in {None, message.own_price} else "other")
        )
        if final > 0:
            message.charged = final
            self._post("charge", final, self.now, message)
        else:
            self.took("charge of nothing")

    # -- entries and events --------------------------------------------------------------------

    def _legal(self, message: Message, verb: str, *states: str) -> None:
        if message.state not in states:
            self.took(f"refused: {message.state}.{verb}")
            raise Refused("IllegalTransition", f"{verb} of a message that is {message.state}")

    def _release(self, message: Message, at: int) -> None:
        if message.held > 0:
            self._post("release", message.held, at, message)
            message.held = ZERO

    def _post(self, kind: str, amount: Decimal, at: int, message: Message) -> None:
        assert message.conversation is not None
        self.ledger.append(Entry(kind, amount, at, message.label, message.conversation.label))

    def _emit(self, message: Message) -> None:
        number = len(self.events)
        event_id = Label("e", number)  # unique, unless asked otherwise (§2.2 leaves it open)
        if self.knobs.event_id_per_message:
            event_id = Label("e of m", message.label.number)
        body = {
            "id": event_id,
            "type": "chat.message.updated",
            "apiVersion": "v2",
            "createTime": stamp(self.now),
            "chatMessage": self._resource(message),
        }
        self.events.append(Event(message.status, message.label, self.now, body))
        message.events.append(message.status)

    def emit_other(self, type_: str, resource: dict[str, Any], given: dict[str, str]) -> None:
        """An event about no message, in the envelope of §2.2 (assumed)."""
        key = given.get("key")
        self.took("another event, its key " + ("given" if key else "of its type"))
        if key is None:  # all parts but the last, in camel case
            parts = type_.replace("_", ".").split(".")
            parts = parts[: len(parts) - 1] or parts
            key = parts[0] + "".join(part.capitalize() for part in parts[1:])
        if "id" in given:
            self.took("another event, its id given")
        body = {
            "id": given.get("id", Label("e", len(self.events))),
            "type": type_,
            "apiVersion": "v2",
            "createTime": stamp(self.now),
            key: resource,
        }
        self.events.append(Event(None, None, self.now, body, type_))

    def _resource(self, message: Message) -> dict[str, Any]:
        """§2.3, field by field: what is not listed for a status is absent."""
        fields: dict[str, Any] = {
            "id": message.label,
            "chatMessageId": Label("wamid.", message.label.number),
            "status": message.status,
            "totalPrice": message.total,
            "currency": self.knobs.currency,
            "bizType": "chat",
            "type": message.type,
            message.type: message.content,
        }
        if message.error is not None:
            code, text, platform = message.error
            fields |= {"errorCode": code, "errorMessage": text}
            if platform is not None:
                fields["chatApiError"] = platform
            return fields
        assert message.sent is not None
        fields |= {"createTime": stamp(message.created), "sendTime": stamp(message.sent)}
        fields["conversation"] = self._conversation(message)
        if message.delivered is not None:
            fields["deliverTime"] = stamp(message.delivered)
        if message.read is not None:
            fields["readTime"] = stamp(message.read)
        return fields

    def _conversation(self, message: Message) -> dict[str, Any]:
        """§2.4: `type` from the delivery on; the expiry is an estimate until the session runs."""
        conversation = message.conversation
        assert conversation is not None
        assert message.sent is not None
        expires = conversation.expires
        if expires is None:
            expires = message.sent + self.knobs.conversation_length
        fields = {
            "id": conversation.label,
            "originType": conversation.origin,
            "expireTime": stamp(expires),
        }
        if message.status != "sent":
            fields["type"] = self.knobs.conversation_type
        return fields
