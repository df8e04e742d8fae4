"""Why a message costs what it costs, and what happened to it: ``explain()``."""

from __future__ import annotations

from collections.abc import Iterator

from ..domain.conversations import ConversationRecord
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..wire.exact_json import number
from .labels import Labels
from .reasoning import Reasoning
from .sections import Story
from .told import lines_of


def message_story(story: Story, message: MessageState) -> str:
    """Tell all that is known of a message: its money and why, and what happened, in order."""
    labels = story.labels
    reasoning = Reasoning(story, labels)
    status = "sent, then dropped" if message.state == "dropped" else message.state
    currency = story.engine.settings.currency
    start = story.engine.account.ledger.entries[0].moment
    money = (
        f"price {number(message.total_price)}, held {number(message.held)}, "
        f"charged {number(message.charged)} {currency}"
    )
    return labels.clean(
        "\n".join(
            [
                f"{labels.message(message)}, message {message.id} to {message.recipient}: {status}",
                f"  {money}",
                f"  {_conversation(labels, message.conversation)}",
                "Why:",
                *_why(reasoning, message),
                f"What happened, times from {stamp(start)}:",
                *lines_of(reasoning.of(message), start),
            ]
        )
    )


def _conversation(labels: Labels, conversation: ConversationRecord | None) -> str:
    if conversation is None:
        return "no conversation: it failed before it was sent"
    name = f"{labels.conversation(conversation)}, conversation {conversation.id}"
    if conversation.expires_at is None:
        return f"{name}: pending"
    return f"{name}: session until {stamp(conversation.expires_at)}"


def _why(reasoning: Reasoning, message: MessageState) -> Iterator[str]:
    for fact in reasoning.facts(message):
        name = "dropped" if fact.kind == "drop" else fact.text.partition(" ")[0]
        for sentence in reasoning.sentences(fact):
            yield f"  {fact.number:>3}  {name:<9}  {sentence}"
            name = ""
