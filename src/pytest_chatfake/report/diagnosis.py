"""Explains why an expectation failed and how to fix it, as far as the records tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Final

from ..domain.conversations import ConversationState
from ..domain.instants import stamp
from ..domain.messages import DEFAULT_ADDRESS, MessageState
from ..domain.money import total
from ..domain.schedule import due_of
from ..engine.engine import Engine
from ..webhooks.attempts import Attempt
from ..wire.exact_json import number
from .entries import has_failed
from .explanations import Explanations
from .hints import SKIPPED, UNSEEN
from .labels import Labels
from .pending import advance, first_pending, obstacle_of
from .story import Story
from .timeline_text import entry_text

#: How many of a total's messages a folded timeline keeps.
_MAX_MENTIONED: Final = 5

#: The verbs that end a hold.
_ENDS: Final = frozenset({"deliver", "read", "fail"})

#: The verb that leads to a status.
_VERBS: Final[dict[str | None, str]] = {"delivered": "deliver", "read": "read", "failed": "fail"}

#: The states from which a verb can still lead to an expected status.
_NOT_REACHED: Final = {("delivered", "sent"), ("read", "sent"), ("read", "delivered")}

#: How a message can end without a delivery, which releases its hold.
_ENDINGS: Final = {"failed": "failed", "dropped": "was dropped"}


class Diagnosis:
    """Explains a difference from the records of one fake.

    The sentences use the short names of ``labels``. The messages that they name are mentioned in
    the story, so that a folded timeline keeps them.
    """

    def __init__(self, story: Story) -> None:
        self.story: Story = story
        self._engine: Engine = story.engine
        self.labels: Labels = story.labels
        self._explanations = Explanations(story, self.labels)

    def of_charge(self, message: MessageState) -> Iterator[str]:
        yield from self._charges([message])
        if message.state == "sent":
            yield from self._arrival([message])

    def of_hold(self, message: MessageState) -> Iterator[str]:
        if message.held:
            yield from self._held([message])
        elif self._explanations.was_held(message):
            ending = _ENDINGS.get(message.state, "was delivered")
            yield f"{self.labels.message(message)} {ending}, so its hold was released."
        else:
            for fact in self._explanations.facts(message)[:1]:
                for sentence in self._explanations.sentences(fact):
                    yield f"{self.labels.message(message)}: {sentence}."

    def of_total(
        self, what: str, expected: Decimal, found: Decimal, messages: Sequence[MessageState]
    ) -> Iterator[str]:
        """Explain an amount that the account has for these messages."""
        undelivered = [message for message in messages if message.state == "sent"]
        held_for = [message for message in undelivered if message.held]
        if not messages and what != "available":
            yield "No message was sent."
        elif what == "charged" and found > expected:
            yield from self._charges([message for message in messages if message.charged])
        elif what == "charged":
            arrived = [message for message in messages if message.delivered_at is not None]
            free = [message for message in arrived if not message.charged]
            again = [message for message in arrived if message.delivered_devices > 1]
            yield from self._charges(undelivered)
            if undelivered:
                yield from self._arrival(undelivered)
            yield from self._charges(free or again)
        elif what == "held" and found > expected and held_for:
            yield from self._held(held_for)
        elif what == "available" and self._engine.account.ledger.held:
            held = number(self._engine.account.ledger.held)
            yield f"{held} of the balance is held for {self._mention(held_for)} (§3 rule 5)."
            if found < expected:
                yield from self._pending({"fail"}, *held_for)

    def of_statuses(
        self, message: MessageState, wanted: str | None, got: str | None
    ) -> Iterator[str]:
        """Explain the first status that differs; None stands for the end of the list."""
        label = self.labels.message(message)
        account = self._engine.account
        person = account.people.get(message.recipient)
        pending = list(self._pending({_VERBS.get(wanted, "")}, message))
        obstacle = obstacle_of(self._engine, message)
        if message.state == "dropped":
            yield f"{label} was dropped, which sends no event (§3 rule 6)."
        elif pending and got is None and obstacle is None:
            yield from pending
        elif wanted == "read" and person is not None and not person.read_receipts:
            yield f"{label} {UNSEEN}."
        elif (wanted, got) == ("delivered", "read"):
            yield f"{label} {SKIPPED}."
            yield "Call deliver() before read() to get one."
        elif (wanted, message.state) == ("failed", "sent") and account.ledger.available < 0:
            yield (
                f"{label} was sent, though the balance can't cover it. To let it fail: "
                f"on_insufficient_balance='fail'."
            )
        elif (wanted, message.state) == ("failed", "sent"):
            yield f"{label} did not fail: call fail() on it."
        elif (wanted, message.state) in _NOT_REACHED:
            yield f"{label} was not {wanted}: {obstacle or f'call {_VERBS[wanted]}() on it'}."

    def of_silence(self, path: str) -> Iterator[str]:
        """Explain why the API may not have got a request."""
        outbox = self._engine.outbox
        refused = [
            attempt
            for attempt in self.story.trace.odd()
            if isinstance(attempt, Attempt) and has_failed(attempt)
        ]
        if not path.startswith("/") or "?" in path:
            yield "Pass only the path: it starts with /, and has neither a host nor a query."
        elif outbox.endpoints and (pending := list(self._pending({"attempt", *_ENDS}))):
            yield "The app may make this request when the next event arrives:"
            yield from pending
        elif refused:
            yield "The app may make this request once it accepts an event, but this attempt failed:"
            yield f"{entry_text(refused[-1], self.labels, hinted=True)}."
        elif not self.story.api._log:
            yield "The API received no requests."
            yield (
                f"Point the app at chat_fake.base_url (or at chat_fake.wsgi_app), with "
                f"chat_fake.api_key in the header {self.story.api._key_header.shown}."
            )
            if outbox.events and not outbox.endpoints:
                yield "If it makes this request when an event arrives: no endpoint is connected."

    def _pending(self, verbs: Collection[str], *of: MessageState) -> Iterator[str]:
        return first_pending(self._engine, self.labels, verbs, *of)

    def _arrival(self, messages: Sequence[MessageState]) -> Iterator[str]:
        if pending := list(self._pending({"deliver", "read"}, *messages)):
            yield from pending
            return
        obstacles = (obstacle_of(self._engine, message) for message in messages)
        if (obstacle := next(filter(None, obstacles), None)) is not None:
            yield f"That is because {obstacle}."
        else:
            yield f"Call deliver() or read() on {self.labels.messages(messages)}."

    def _held(self, messages: Sequence[MessageState]) -> Iterator[str]:
        held = number(total(message.held for message in messages))
        yield f"{held} is held for {self._mention(messages)} until delivery (§3 rule 5)."
        if pending := list(self._pending(_ENDS, *messages)):
            yield from pending
            return
        drop = messages[0].drop
        assert drop is not None
        label, move = self.labels.message(messages[0]), advance(self._engine, due_of(drop))
        yield f"To release it: deliver() {label}, or {move} to drop it at {stamp(due_of(drop))}."

    def _charges(self, messages: Sequence[MessageState]) -> Iterator[str]:
        # Why the messages were charged or not. If one of them shares the session of another
        # message, also what would have been charged instead.
        self.story.mention(*messages[:_MAX_MENTIONED])
        sentences = [*self._explanations.charges(*messages)]
        self.story.explained.update(dict.fromkeys(messages, sentences))
        yield from (f"{sentence}." for sentence in sentences)
        # No message shares a session's charge.
        if self._engine.settings.rules.charge_per == "message":
            return
        sharing = {
            message.conversation: message
            for message in messages
            if message.conversation and message.delivered_at is not None and not message.charged
        }
        for conversation, message in reversed(sharing.items()):
            starter = self._explanations.starter(conversation)
            if starter is None or starter in messages:
                continue
            self.story.mention(starter)
            yield from self._expiry_of(conversation)
            if {message.recipient, starter.recipient} == {DEFAULT_ADDRESS}:
                yield (
                    f"{self.labels.messages([starter, message])} went to the default recipient, "
                    f"{DEFAULT_ADDRESS}. Use different numbers, as in to='+15550101'."
                )
            return

    def _expiry_of(self, conversation: ConversationState) -> Iterator[str]:
        expires_at = conversation.expires_at
        if expires_at is not None and expires_at > self._engine.time.read():
            yield (
                f"{self.labels.conversation(conversation)} expires at {stamp(expires_at)}. "
                f"A message sent after {advance(self._engine, expires_at)} starts a new, charged "
                f"conversation."
            )

    def _mention(self, messages: Sequence[MessageState]) -> str:
        self.story.mention(*messages[:_MAX_MENTIONED])
        return self.labels.messages(messages)
