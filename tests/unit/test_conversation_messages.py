"""Which messages a conversation has, found by an index (§2.4)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pytest_chatfake.domain.conversations import Members

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake


class Counted(list[Any]):
    """A list that counts how often one of its items is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)


def test_the_messages_of_a_conversation_are_found_without_looking_at_all_of_them_again() -> None:
    one, other = SimpleNamespace(), SimpleNamespace()
    messages = Counted(SimpleNamespace(conversation=one, number=n) for n in range(1_000))
    members = Members(messages)
    assert messages == list(members.of(one))  # type: ignore[arg-type]
    assert 1_000 == messages.looks

    messages.append(SimpleNamespace(conversation=other))
    assert messages[-1:] == list(members.of(other))  # type: ignore[arg-type]
    assert 1_002 == messages.looks  # and one of them is this test's
    assert 1_000 == len(members.of(one))  # type: ignore[arg-type]


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
