"""Explains why messages cost what they do, also as the text of ``explain()``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from ..base.history import Record
from ..domain.conversations import ConversationState
from ..domain.instants import stamp
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.money import ZERO
from ..domain.reasons import (
    ANOTHER_DEVICE,
    CHARGED_BY,
    Reason,
)
from ..webhooks.events import Event
from ..wire.exact_json import number
from .entries import kind_of, number_of
from .labels import Labels
from .story import Story
from .timeline_text import lines_of

#: The maximum number of groups of messages that are explained.
_MAX_GROUPS: Final = 5


class Explanations:
    """Explains the charges of one fake's messages."""

    def __init__(self, story: Story, labels: Labels) -> None:
        self._account = story.engine.account
        self._charged_by = CHARGED_BY[story.engine.settings.rules.charge_per]
        self._labels = labels
        self._trace = story.trace

    def facts(self, message: MessageState) -> list[Record]:
        return [entry for entry in self._trace.of(message) if entry._rule is not None]

    def charges(self, *messages: MessageState) -> Iterator[str]:
        """Say which messages were charged and why; messages with the same reasons are grouped."""
        alike: dict[tuple[str, ...], list[MessageState]] = {}
        more = 0
        for message in messages:
            charged = f"charged {number(message.charged)}" if message.charged else "not charged"
            reasons = (charged, *self._reasons(message))
            if reasons in alike or len(alike) < _MAX_GROUPS:
                alike.setdefault(reasons, []).append(message)
            else:
                more += 1
        for (charged, reason, *others), found in alike.items():
            was = "was" if len(found) == 1 else "were"
            yield f"{self._labels.messages(found)} {was} {charged}: {reason}"
            yield from others
        if more:
            yield f"... and {more:,} more messages, for reasons like these"

    def _reasons(self, message: MessageState) -> list[str]:
        # A message's end decides what it costs; until then, its first arrival does.
        if message.state == "sent":
            return [f"no delivery yet ({self._charged_by})"]
        facts = self.facts(message)
        free = [fact for fact in facts if message.charged and fact._rule is ANOTHER_DEVICE]
        return [text for fact in (*facts[:2][-1:], *free[:1]) for text in self.sentences(fact)]

    def sentences(self, fact: Record) -> list[str]:
        """Return a sentence for each reason, with the section or the setting behind it."""
        assert fact._rule is not None
        assert fact._message is not None
        amounts: dict[str, Decimal] = {
            entry.kind: entry.amount
            for entry in self._trace.of(fact._message)
            if isinstance(entry, LedgerEntry)
            and (entry._cause is fact._cause or entry._cause is fact)
        }
        return [self._sentence(reason, amounts, fact._message) for reason in fact._rule.reasons]

    def was_held(self, message: MessageState) -> bool:
        return any(kind_of(entry) == "hold" for entry in self._trace.of(message))

    def starter(self, conversation: ConversationState) -> MessageState | None:
        """Return the message whose delivery started a conversation's session."""
        messages = self._account.messages_in(conversation)
        return next((message for message in messages if message.has_started_session), None)

    def _sentence(
        self, reason: Reason, amounts: Mapping[str, Decimal], message: MessageState
    ) -> str:
        conversation = message.conversation
        label = starter = ""
        if conversation is not None and "{conversation}" in reason.text:
            label, started = self._labels.conversation(conversation), self.starter(conversation)
            starter = "" if started is None else self._labels.message(started)
        text = reason.text.format(
            amount=number(amounts.get("charge", amounts.get("hold", message.price or ZERO))),
            held=number(amounts.get("release", ZERO)),
            recipient=message.recipient,
            conversation=label,
            starter=starter,
        )
        setting = f"; change it with {reason.setting}" if reason.setting else ""
        return f"{text} ({reason.basis}{setting})"


def explanation(story: Story, message: MessageState) -> str:
    labels, begun = story.labels, story.trace.begun
    explanations = Explanations(story, labels)
    currency = story.engine.settings.currency
    money = (
        f"price {number(message.total_price)}, held {number(message.held)}, "
        f"charged {number(message.charged)} {currency}"
    )
    name = f"{labels.message(message)}, message {message.id} to {message.recipient}"
    return labels.clean(
        "\n".join(
            [
                f"{name}: {labels.status(message)}",
                f"  {money}",
                f"  {_conversation(labels, message.conversation)}",
                "Why:",
                *_why(explanations, message),
                f"What happened, times from {stamp(begun)}:",
                *lines_of(story.trace.of(message), labels, begun),
            ]
        )
    )


def _conversation(labels: Labels, conversation: ConversationState | None) -> str:
    if conversation is None:
        return "no conversation: it failed before it was sent"
    name = f"{labels.conversation(conversation)}, conversation {conversation.id}"
    if conversation.expires_at is None:
        return f"{name}: pending"
    return f"{name}: session until {stamp(conversation.expires_at)}"


def _why(explanations: Explanations, message: MessageState) -> Iterator[str]:
    for fact in explanations.facts(message):
        name = fact.status if isinstance(fact, Event) else "dropped"
        for sentence in explanations.sentences(fact):
            yield f"  {number_of(fact):>3}  {name or '':<9}  {sentence}"
            name = ""
