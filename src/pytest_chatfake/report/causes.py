"""The likely cause of an expectation that failed, and the remedy; only where it is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import cast

from ..domain.instants import stamp
from ..domain.messages import DEFAULT_ADDRESS, MessageState
from ..domain.schedule import due_of
from ..engine.engine import Engine
from ..webhooks.dispatch import Dispatch
from ..wire.exact_json import number
from .happenings import length
from .labels import Labels
from .reasoning import Reasoning

#: How many messages a sentence about totals names.
_MOST = 5


class Causes:
    """Looks for what explains the difference.

    Args:
        engine: The fake's engine.
        labels: The short names.
        reasoning: The reasons of facts.
    """

    def __init__(self, engine: Engine, labels: Labels, reasoning: Reasoning) -> None:
        self._engine = engine
        self._labels = labels
        self._reasoning = reasoning

    def of_charge(self, message: MessageState) -> Iterator[str]:
        """Say why a message was charged what it was charged."""
        label = self._labels.message(message)
        if message.state == "sent":
            yield f"{label} was not delivered yet, and a charge is made at the first delivery (§1)."
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
            yield self._drop_remedy(message)
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
        if what == "charged" and found < expected:
            if undelivered:
                names = self._names(undelivered)
                yield f"Not delivered yet, and so not charged (§1): {names}."
            yield from self._shared(
                [one for one in messages if one.delivered_at is not None and not one.charged]
            )
        elif what == "held" and found > expected:
            yield f"Sent and not delivered, and so held (§3 rule 5): {self._names(undelivered)}."
            for one in undelivered[:1]:
                yield self._drop_remedy(one)
        elif what == "held":
            for state, how in (("dropped", "the drop"), ("failed", "a failure")):
                gone = [one for one in messages if one.state == state and one.sent_at is not None]
                if gone:
                    yield f"Released by {how}: what was held for {self._names(gone)}."
        elif what == "available" and self._engine.account.ledger.held:
            held = number(self._engine.account.ledger.held)
            yield f"Held, and so not available (§3 rule 5): {held}, for {self._names(undelivered)}."

    def of_statuses(
        self, message: MessageState, missing: Sequence[str], instead: Sequence[str]
    ) -> Iterator[str]:
        """Say why a message has not the status that was expected next."""
        label = self._labels.message(message)
        person = self._engine.account.people.get(message.recipient)
        if message.state == "dropped":
            yield f"{label} was dropped, which has no event (§3 rule 6)."
        elif list(missing) == ["read"] and person is not None and not person.read_receipts:
            yield f"{label} went to somebody without read receipts: no read event (§3 rule 3)."
        elif list(missing) == ["delivered"] and list(instead) == ["read"]:
            yield f"{label} was read at once, which has no delivered event (§3)."
            yield "Remedy: deliver() it before read()."
        elif list(missing) == ["delivered"] and message.state == "sent":
            obstacle = None if person is None else person.obstacle(arrives=True)
            yield f"{label} was not delivered{'' if obstacle is None else f': {obstacle}'}."

    def of_silence(self) -> Iterator[str]:
        """Say why an app may not have done what it was expected to do."""
        engine = self._engine
        if not engine.outbox.endpoints:
            yield "No endpoint is connected, so no app has heard of anything."
            yield "Remedy: chat_fake.webhooks.connect(...) before the first verb."
        due = sorted(
            (key, work) for key, work in engine.schedule.work.items() if work[0] == "attempt"
        )
        for key, (_, subject) in due[:1]:
            dispatch = cast("Dispatch", subject)
            at = due_of(key)
            wait = max(at - engine.time.read(), 0)
            event = self._labels.event(dispatch.event)
            yield f"An attempt is still due: {event}, at {stamp(at)}."
            yield f"Remedy: advance the clock by {length(wait)}."

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
            names, label = self._names(others), self._labels.message(starter)
            inside = self._labels.conversation(starter.conversation)
            yield f"In {inside}, which was charged with {label} (§1): {names}."
            if {one.recipient for one in (starter, *others)} == {DEFAULT_ADDRESS}:
                yield (
                    f"All of them went to the default recipient, {DEFAULT_ADDRESS}. "
                    f"Remedy: send to others, as in to='+15550101'."
                )

    def _drop_remedy(self, message: MessageState) -> str:
        assert message.drop is not None
        when = stamp(due_of(message.drop))
        return f"Remedy: deliver() it, or move the clock to {when}, when it is dropped."

    def _names(self, messages: Sequence[MessageState]) -> str:
        names = ", ".join(map(self._labels.message, messages[:_MOST]))
        more = len(messages) - _MOST
        return f"{names} and {more} more" if more > 0 else names
