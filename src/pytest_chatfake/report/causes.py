"""The likely cause of an expectation that failed, and the remedy; only where it is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Final

from ..base.misspelt import nearest
from ..domain.conversations import ConversationRecord
from ..domain.instants import stamp
from ..domain.messages import DEFAULT_ADDRESS, MessageState
from ..domain.schedule import due_of
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from ..webhooks.fault_kinds import effect_of
from ..wire.exact_json import number
from .coming import advance, coming, first, likely
from .hints import beginning
from .labels import Labels
from .reasoning import Reasoning

#: How many messages a sentence about totals names.
_MOST: Final = 5

#: What brings a message to a phone, and what releases what is held for it.
_ARRIVALS: Final = frozenset({"deliver", "read"})
_ENDS: Final = frozenset({"deliver", "read", "fail"})

#: What leads to a status.
_VERBS: Final = {"delivered": {"deliver"}, "read": {"read"}, "failed": {"fail"}}


class Causes:
    """Looks for what explains the difference.

    Args:
        engine: The fake's engine.
        labels: The short names.
        reasoning: The reasons of facts.
        named: Takes the messages that its sentences name, so that the timeline keeps them.
    """

    def __init__(
        self, engine: Engine, labels: Labels, reasoning: Reasoning, named: list[MessageState]
    ) -> None:
        self._engine = engine
        self._labels = labels
        self._reasoning = reasoning
        self._named = named

    def of_charge(self, message: MessageState) -> Iterator[str]:
        """Say why a message was charged what it was charged."""
        label = self._labels.message(message)
        if message.state == "sent":
            yield f"{label} was not delivered yet, and a charge is made at the first delivery (§1)."
            if (obstacle := self._obstacle(message)) is not None:
                yield f"Before that, {obstacle}."
            elif found := self._first(_ARRIVALS, message):
                yield from found
            else:
                yield "Remedy: deliver() it, or read() it."
            return
        facts = list(self._reasoning.facts(message))
        ended = message.state in {"failed", "dropped"}
        for fact in facts[-1:] if ended else facts[1:2]:  # the end, or the first arrival
            for sentence in self._reasoning.sentences(fact):
                yield f"{label}: {sentence}."
        if not message.charged and message.state in {"delivered", "read"}:
            yield from self._shared([message])

    def of_hold(self, message: MessageState) -> Iterator[str]:
        """Say why so much is held for a message."""
        label = self._labels.message(message)
        if message.held:
            yield f"{label} is sent and not delivered: its price is held until then (§3 rule 5)."
            yield from self._first(_ENDS, message) or [self._drop_remedy(message)]
            return
        how = {"failed": "its failure", "dropped": "the drop"}.get(message.state, "its delivery")
        facts = list(self._reasoning.facts(message))
        if self._reasoning.was_held(message):
            yield f"What was held for {label} was released by {how}."
            return
        for fact in facts[:1]:
            for sentence in self._reasoning.sentences(fact):
                yield f"{label}: {sentence}."

    def of_total(self, what: str, expected: Decimal, found: Decimal) -> Iterator[str]:
        """Say what explains a total."""
        messages = self._engine.account.messages
        undelivered = [one for one in messages if one.state == "sent"]
        held_for = [one for one in undelivered if one.held]
        if what == "charged" and found < expected:
            if undelivered:
                names = self._names(undelivered)
                yield f"Not delivered yet, and so not charged (§1): {names}."
                yield from self._first(_ARRIVALS, *undelivered)
            yield from self._shared(
                [one for one in messages if one.delivered_at is not None and not one.charged]
            )
        elif what == "held" and found > expected and held_for:
            yield f"Sent and not delivered, and so held (§3 rule 5): {self._names(held_for)}."
            found_due = self._first(_ENDS, *held_for)
            yield from found_due or map(self._drop_remedy, held_for[:1])
        elif what == "held":
            for state, how in (("dropped", "the drop"), ("failed", "a failure")):
                gone = [one for one in messages if one.state == state and one.sent_at is not None]
                if gone:
                    yield f"Released by {how}: what was held for {self._names(gone)}."
        elif what == "available" and self._engine.account.ledger.held:
            held = number(self._engine.account.ledger.held)
            yield f"Held, and so not available (§3 rule 5): {held}, for {self._names(held_for)}."
            if found < expected:
                yield from self._first({"fail"}, *held_for)

    def of_statuses(
        self, message: MessageState, missing: Sequence[str], instead: Sequence[str]
    ) -> Iterator[str]:
        """Say why a message has not the status that was expected next."""
        label = self._labels.message(message)
        person = self._engine.account.people.get(message.recipient)
        due = self._first(_VERBS.get("".join(missing), ()), message)
        if message.state == "dropped":
            yield f"{label} was dropped, which has no event (§3 rule 6)."
        elif due and not instead and self._obstacle(message) is None:
            yield from due
        elif list(missing) == ["read"] and person is not None and not person.read_receipts:
            yield f"{label} went to somebody without read receipts: no read event (§3 rule 3)."
        elif list(missing) == ["delivered"] and list(instead) == ["read"]:
            yield f"{label} was read at once, which has no delivered event (§3)."
            yield "Remedy: deliver() it before read()."
        elif list(missing) == ["delivered"] and message.state == "sent":
            obstacle = self._obstacle(message)
            yield f"{label} was not delivered{'' if obstacle is None else f': {obstacle}'}."

    def of_silence(self, api: AccountApi, method: str, path: str) -> Iterator[str]:
        """Say why the API may not have been asked for something.

        Args:
            api: The fake's side of the HTTP API.
            method: Such as ``GET``.
            path: What was expected.
        """
        asked = [f"{one.method} {one.path}" for one in api._log]
        wanted = f"{method} {path}"
        if not path.startswith("/") or "?" in path:
            yield "Remedy: write the path alone, from its first / on, without host and query."
        elif wanted not in asked and (near := nearest(wanted, asked)):
            yield f"The nearest that was requested is {near}: is the method right, and the path?"
        elif self._engine.outbox.endpoints and (found := self._first({"attempt", *_ENDS})):
            yield "The app may ask when it hears of what is to come:"
            yield from found
        elif failed := self._failed():
            yield "The app may ask when it has taken an event, and this attempt failed:"
            yield f"{failed}."
        elif not asked:
            yield "Nothing was asked of the API at all."
            yield (
                "Remedy: let the app ask chat_fake.base_url (or call chat_fake.wsgi_app), with "
                "chat_fake.api_key in the header X-API-Key."
            )
            if self._engine.outbox.events and not self._engine.outbox.endpoints:
                yield "An app that asks when it hears of an event has heard of none: no endpoint."

    def _first(self, verbs: Collection[str], *of: MessageState) -> list[str]:
        """Say what is to come by itself that may be missing, and how to get there."""
        found = first(coming(self._engine, self._labels), verbs, *of)
        return [] if found is None else list(likely(self._engine, found))

    def _failed(self) -> str | None:
        """Say which attempt failed last, unless the test wanted it to."""
        attempts = self._engine.outbox.attempts
        for place in reversed(attempts.failed(0)):
            one = attempts[place]
            if not effect_of(one.fault).fails:
                what, to = self._labels.event(one.event), self._labels.endpoint(one.endpoint)
                return f"{what} -> {to}: {beginning(one.outcome)}"
        return None

    def _obstacle(self, message: MessageState) -> str | None:
        """Say what keeps a message from its phone."""
        person = self._engine.account.people.get(message.recipient)
        return None if person is None else person.obstacle(arrives=True)

    def _shared(self, free: Sequence[MessageState]) -> Iterator[str]:
        """Say that messages cost nothing because their conversation was charged already."""
        by_starter: dict[int, tuple[MessageState, list[MessageState]]] = {}
        for one in free:
            conversation = one.conversation
            starter = None if conversation is None else self._reasoning.starter(conversation)
            if starter is not None and starter is not one:
                by_starter.setdefault(starter.number, (starter, []))[1].append(one)
        for starter, others in by_starter.values():
            assert starter.conversation is not None
            names, label = self._names(others), self._names([starter])
            inside = self._labels.conversation(starter.conversation)
            yield f"In {inside}, which was charged with {label} (§1): {names}."
            yield from self._end_of(starter.conversation)
            if {one.recipient for one in (starter, *others)} == {DEFAULT_ADDRESS}:
                yield (
                    f"All of them went to the default recipient, {DEFAULT_ADDRESS}. "
                    f"Remedy: send to others, as in to='+15550101'."
                )

    def _end_of(self, conversation: ConversationRecord) -> Iterator[str]:
        """Say when a session that is open ends: what is sent then is charged anew."""
        assert conversation.expires_at is not None
        if conversation.expires_at > self._engine.time.read():
            inside = self._labels.conversation(conversation)
            yield (
                f"The session of {inside} ends at {stamp(conversation.expires_at)}: what is sent "
                f"after {advance(self._engine, conversation.expires_at)} is charged anew."
            )

    def _drop_remedy(self, message: MessageState) -> str:
        assert message.drop is not None
        when = due_of(message.drop)
        move = advance(self._engine, when)
        return f"Remedy: deliver() it, or {move}: at {stamp(when)} it is dropped."

    def _names(self, messages: Sequence[MessageState]) -> str:
        self._named.extend(messages[:_MOST])
        names = ", ".join(map(self._labels.message, messages[:_MOST]))
        more = len(messages) - _MOST
        return f"{names} and {more} more" if more > 0 else names
