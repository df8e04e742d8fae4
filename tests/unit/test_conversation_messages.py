"""Which messages a conversation has (§2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake


def test_a_conversation_has_the_messages_that_came_since_it_was_last_asked(fake: ChatFake) -> None:
    first = fake.send_text()
    conversation = first.conversation
    assert conversation is not None
    assert (first,) == conversation.messages
    fake.submit_text().reject()
    fake.send_text(to="+2")
    second = fake.send_text()

    assert (first, second) == conversation.messages


def test_a_conversation_of_before_a_reset_has_no_messages(fake: ChatFake) -> None:
    conversation = fake.send_text().conversation
    assert conversation is not None
    fake.reset()
    fake.send_text()

    assert () == conversation.messages
