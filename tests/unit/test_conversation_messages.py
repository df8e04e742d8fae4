"""Which messages a conversation has (§2.4)."""


def test_a_conversation_has_the_messages_that_came_since_it_was_last_asked(fake):
    first = fake.send_text()
    conversation = first.conversation
    assert conversation is not None
    assert (first,) == conversation.messages
    fake.submit_text().reject()
    fake.send_text(to="+2")
    second = fake.send_text()

    assert (first, second) == conversation.messages


def test_a_conversation_of_before_a_reset_has_no_messages(fake):
    conversation = fake.send_text().conversation
    assert conversation is not None
    fake.reset()
    fake.send_text()

    assert conversation.messages == ()
