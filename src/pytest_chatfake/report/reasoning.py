"""Why a message costs what it costs: the reasons of its facts, with what they were about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..domain.conversations import ConversationRecord
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.money import ZERO
from ..domain.reasons import DELIVERED, READ_AT_ONCE, READ_IN_PRIVATE, Reason
from ..wire.exact_json import number
from .happenings import Happening
from .labels import Labels

#: The rules of the arrivals that start a conversation's session.
_STARTS = {
    way[outcome].key
    for way in (DELIVERED, READ_AT_ONCE, READ_IN_PRIVATE)
    for outcome in ("first", "final", "free")
}


class Reasoning:
    """The reasons of one fake's facts.

    Args:
        labels: The short names.
        found: All that happened.
    """

    def __init__(self, labels: Labels, found: Sequence[Happening]) -> None:
        self._labels = labels
        self._found = found

    def facts(self, message: MessageState) -> Iterator[Happening]:
        """Give what befell a message by the rules, in order."""
        return (one for one in self._found if one.state is message and one.rule is not None)

    def sentences(self, fact: Happening) -> list[str]:
        """Return why a fact is as it is: a sentence for each reason, and what that rests on."""
        if fact.rule is None or fact.state is None:
            return []
        return [self._sentence(reason, fact, fact.state) for reason in fact.rule.reasons]

    def was_held(self, message: MessageState) -> bool:
        """Return whether something was ever held for a message."""
        return any(one.state is message and one.kind == "hold" for one in self._found)

    def starter(self, conversation: ConversationRecord) -> MessageState | None:
        """Return the message whose delivery started a conversation's session."""
        starts = (one.state for one in self._found if one.rule and one.rule.key in _STARTS)
        return next((one for one in starts if one and one.conversation is conversation), None)

    def _sentence(self, reason: Reason, fact: Happening, message: MessageState) -> str:
        entries = [
            one.record
            for one in self._found
            if one.cause == fact.cause
            and one.state is message
            and isinstance(one.record, LedgerEntry)
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
    if reason.basis != "assumed" or not reason.knob:
        return reason.basis
    return f"assumed; change it with {reason.knob}"
