"""What a test reads from its handles: messages, conversations and views."""

import asyncio
import re
from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine

from pytest_chatfake import ChatFake, ChatFakeError, NotAwaited

from .api_clients import call_with_werkzeug
from .fakes import START, at, frozen_fake

# -- handles ---------------------------------------------------------------------------------------


def test_a_conversation_tells_its_life(fake):
    first, second = fake.send_text(to="+1"), fake.send_text(to="+1")
    fake.send_text(to="+2")
    conversation = first.conversation

    def life():
        return conversation.state, conversation.started_at, conversation.expires_at

    assert life() == ("pending", None, None)
    assert (conversation.recipient, conversation.origin_type) == ("+1", first.origin_type)
    assert conversation.messages == (first, second)
    fake.clock.advance(60)
    second.deliver()
    assert life() == ("open", at(minutes=1), at(minutes=1, days=1))
    fake.clock.advance(hours=24)
    assert repr(conversation) == f"<Conversation {conversation.id} with +1: expired>"


def test_a_message_tells_when_it_was_sent_and_with_which_fields(fake):
    message = fake.send_text(extra={"order": 7, "sum": Decimal("0.10")})
    fake.clock.advance(60)

    assert message.extra == {"order": 7, "sum": Decimal("0.10")}
    assert message.sent_at == at()
    assert fake.send_text().sent_at == at(minutes=1)
    assert fake.send_text().extra == {}
    assert fake.submit_text().reject().sent_at is None


def test_a_message_was_sent_when_its_events_say_so():
    with frozen_fake(tick=1, extra={"order": 7}) as fake:
        for _ in range(2):
            message = fake.send_text()

        assert message.sent_at == message.events[0].create_time == at(seconds=1)
        assert message.extra == {"order": 7}


def test_handles_of_the_same_thing_are_equal(fake):
    message, other = fake.send_text(), fake.send_text(to="+2")

    assert message == fake.messages[0] == fake.message(message.id) != other
    assert message != message.id
    assert {message, fake.messages[0], other} == {*fake.messages}
    assert {message.conversation, other.conversation} == {*fake.conversations}
    assert len(fake.conversations) == 2


def test_handles_show_themselves_in_a_word(fake):
    assert repr(fake.submit_text()) == "<Submission to +15550100: submitted>"
    receiver = fake.webhooks.receiver()
    assert repr(receiver) == "<Receiver of 0 webhooks>"
    message = fake.send_text()
    (attempt,), (request,), (event,) = fake.webhooks.attempts, receiver.requests, fake.events
    about = f"sent m1 (message {message.id})"

    assert [*map(repr, (message, event, request, attempt, fake.clock, fake, fake.webhooks))] == [
        f"<Message {message.id} to +15550100: sent, held 0.05>",
        f"<Event {event.id} {about}>",
        f"<WebhookRequest 1 of {about} at Receiver()>",
        f"<Attempt 1 of {event.id}, {about}, at Receiver(): status 200>",
        "<Clock at 2026-01-01T12:00:00+00:00>",
        "<ChatFake sync, 1 message: available 99.95, held 0.05, charged 0 USD>",
        "<Webhooks: 1 endpoint, 1 event, 1 attempt>",
    ]
    assert repr(fake.api) == f"<chat_fake.api of the key ...{fake.api_key[-4:]}: 0 requests>"


def test_an_endpoint_tells_its_retries(fake):
    endpoint = fake.webhooks.connect(handler=print, retry_after=[1])
    assert list(endpoint.retry_after) == [timedelta(seconds=1)]


def test_views_are_sequences_that_go_on_growing(fake):
    messages = fake.messages
    assert messages == []
    first, second = (fake.send_text(to=f"+{number}") for number in range(2))

    assert messages == fake.messages == (first, second) != "something else"
    assert [messages[1:], messages[-1], first in messages] == [(second,), second, True]
    assert repr(messages) == f"[{first!r}, {second!r}]"
    assert list(reversed(messages)) == [second, first]
    with pytest.raises(IndexError):
        messages[2]
    first.deliver(devices=30)
    assert repr(fake.events).endswith(", ...]")
    assert len([fake.send_text() for _ in messages]) == 2  # those of when it began


# -- corners ---------------------------------------------------------------------------------------


def test_a_receiver_and_a_route_can_not_close_the_fake_that_waits_for_them(fake):
    endpoint = fake.webhooks.connect(handler=lambda _: fake.close())
    with pytest.raises(ChatFakeError, match=r"can't call close\(\) from a receiver"):
        fake.send_text()
    endpoint.disconnect()
    fake.route("/close")(lambda _: fake.close())
    assert call_with_werkzeug(fake, "POST", "/close").status == 500
    with pytest.raises(ChatFakeError, match=r"can't call close\(\) from a receiver"):
        fake.settle()
    fake.send_text().deliver()


def test_a_receiver_is_still_one_after_its_call_of_a_failing_route(fake):
    def receive(_):
        assert call_with_werkzeug(fake, "POST", "/fails").status == 500
        fake.close()

    fake.route("/fails")(lambda _: 1 / 0)
    fake.webhooks.connect(handler=receive)
    with pytest.raises(ChatFakeError, match=r"can't call close\(\) from a receiver"):
        fake.send_text()
    with pytest.raises(ZeroDivisionError):
        fake.settle()


def test_a_fake_that_is_closed_twice_is_closed():
    fake = ChatFake()
    fake.close()
    fake.close()
    with fake:
        pass

    assert repr(fake).startswith("<ChatFake closed")


def test_a_message_whose_extra_fields_failed_has_no_id():
    async def main(fake):
        message = fake.send_text()
        with pytest.raises(LookupError):
            await message
        with pytest.raises(NotAwaited, match="this message was never sent"):
            assert message.id

    def fail(message, status):
        raise LookupError

    with ChatFake(mode="async", extra=fail) as fake:
        asyncio.run(main(fake))


def test_the_time_of_a_closed_fake_stands_still():
    fake = ChatFake()
    conversation = fake.send_text().deliver().conversation
    fake.clock.advance(days=2)
    fake.close()

    assert (conversation.state, [*fake.clock.agenda]) == ("expired", [])
    assert fake.clock.now - conversation.started_at >= timedelta(days=2)


def test_a_traveller_that_somebody_else_ended_is_no_error_at_the_end():
    fake = ChatFake()
    fake.clock.advance(1)
    time_machine.travel(START).stop()  # ends the one on top, which is the fake's
    fake.close()

    assert time_machine.traveller_stack == []


@pytest.mark.asyncio
async def test_what_is_to_be_awaited_says_so():
    with frozen_fake(mode="async") as fake:
        pending = fake.top_up(1)
        assert repr(pending) == "<Pending: steps to await>"
        await pending
        assert repr(pending) == "<Pending: performed>"
    with frozen_fake() as fake:
        assert repr(fake.top_up(1)) == "<Pending: nothing to await>"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("submit", "call"),
    [
        (lambda fake: fake.submit_text(), "submit_text()"),
        (lambda fake: fake.submit("image", {"id": "1"}), "submit()"),
    ],
    ids=["submit_text", "submit"],
)
async def test_a_submission_after_steps_is_named_as_the_test_wrote_it(submit, call, fake):
    fake.top_up(1)
    submit(fake)
    fake._engine.plan.next()  # the first step is performed
    with pytest.raises(NotAwaited, match=re.escape(f"{call} was not performed yet")):
        _ = fake.messages
    await fake.settle()
