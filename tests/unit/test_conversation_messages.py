"""Which messages a conversation has (§2.4)."""

import pytest

from pytest_chatfake import ClosedError


def test_a_conversation_has_what_came_since_the_last_look_until_a_reset(fake):
    first = fake.send_text()
    conversation = first.conversation
    assert conversation.messages == (first,)
    fake.submit_text().reject()
    fake.send_text(to="+2")
    second = fake.send_text()

    assert conversation.messages == (first, second)
    fake.reset()
    fake.send_text()

    with pytest.raises(ClosedError, match="no longer exists: the fake was reset"):
        assert conversation.messages
