"""Why a message costs what it costs: the reasons of its facts, with what they were about."""

from __future__ import annotations

from collections.abc import Iterator

from ..domain.conversations import ConversationRecord
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.money import ZERO
from ..domain.reasons import DELIVERED, READ_AT_ONCE, READ_IN_PRIVATE, Reason
from ..wire.exact_json import number
from .happenings import Happening
from .labels import Labels
from .sections import Story

#: The rules of the arrivals that start a conversation's session.
_STARTS = {
    way[outcome].key
    for way in (DELIVERED, READ_AT_ONCE, READ_IN_PRIVATE)
    for outcome in ("first", "final", "free")
}


class Reasoning:
    """The reasons of one fake's facts.

    Args:
        story: The fake's story.
        labels: The short names.
    """

    def __init__(self, story: Story, labels: Labels) -> None:
        self._story = story
        self._labels = labels
        self._found: dict[int, list[Happening]] = {}

    def of(self, message: MessageState) -> list[Happening]:
        """Return what happened to a message, in order."""
        if message.number not in self._found:
            self._found[message.number] = self._story.of(message)
        return self._found[message.number]

    def facts(self, message: MessageState) -> Iterator[Happening]:
        """Give what befell a message by the rules, in order."""
        return (one for one in self.of(message) if one.rule is not None)

    def sentences(self, fact: Happening) -> list[str]:
        """Return why a fact is as it is: a sentence for each reason, and what that rests on."""
        assert fact.rule is not None
        assert fact.state is not None
        return [self._sentence(reason, fact, fact.state) for reason in fact.rule.reasons]

    def was_held(self, message: MessageState) -> bool:
        """Return whether something was ever held for a message."""
        return any(one.kind == "hold" for one in self.of(message))

    def starter(self, conversation: ConversationRecord) -> MessageState | None:
        """Return the message whose delivery started a conversation's session."""
        members = self._story.engine.account.messages_in(conversation)
        return next((one for one in members if self._has_started(one)), None)

    def _has_started(self, message: MessageState) -> bool:
        conversation = message.conversation
        if conversation is None or message.delivered_at != conversation.started_at:
            return False
        return any(one.rule is not None and one.rule.key in _STARTS for one in self.facts(message))

    def _sentence(self, reason: Reason, fact: Happening, message: MessageState) -> str:
        entries = [
            one.record
            for one in self.of(message)
            if one.cause == fact.cause and isinstance(one.record, LedgerEntry)
        ]
        amounts = {entry.kind: number(entry.amount) for entry in entries}
        conversation = message.conversation
        started = None if conversation is None else self.starter(conversation)
        text = reason.text.format(
            amount=amounts.get("charge") or amounts.get("hold") or number(message.price or ZERO),
            held=amounts.get("release", "0"),
            recipient=message.recipient,
            conversation="" if conversation is None else self._labels.conversation(conversation),
            starter="" if started is None else self._labels.message(started),
        )
        return f"{text} ({basis(reason)})"


def basis(reason: Reason) -> str:
    """Say what a reason rests on: a section, or that it is assumed, and what changes it."""
    if reason.basis != "assumed" or not reason.setting:
        return reason.basis
    return f"assumed; change it with {reason.setting}"
