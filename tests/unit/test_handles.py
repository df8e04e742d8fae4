"""What a test reads from its handles: messages, conversations and views."""

import re
from datetime import timedelta

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
    assert conversation is not None

    assert (
        conversation.state,
        conversation.started_at,
        conversation.expires_at,
    ) == ("pending", None, None)
    assert (
        conversation.recipient,
        conversation.origin_type,
        first.origin_type,
    ) == ("+1", "marketing", "marketing")
    assert (first, second) == conversation.messages
    fake.clock.advance(60)
    second.deliver()
    assert conversation.state == "open"
    assert at(minutes=1) == conversation.started_at
    assert at(minutes=1, days=1) == conversation.expires_at
    fake.clock.advance(hours=24)
    assert conversation.state == "expired"
    assert f"<Conversation {conversation.id} with +1: expired>" == repr(conversation)


def test_handles_of_the_same_thing_are_equal(fake):
    message, other = fake.send_text(), fake.send_text(to="+2")

    assert message == fake.messages[0] == fake.message(message.id)
    assert len({message, fake.messages[0]}) == 1
    assert message != other
    assert message != message.id
    assert len({message.conversation, fake.conversations[0]}) == 1
    assert message.conversation != other.conversation


def test_events_and_attempts_are_equal_by_their_place_and_survive_a_reset(fake):
    fake.webhooks.receiver()
    fake.send_text().deliver()
    sent, delivered = fake.events
    first, second = fake.webhooks.attempts

    assert (sent, first) == (fake.events[-2], fake.webhooks.attempts[0])
    assert sent == first.event != delivered == second.event != first
    assert {sent: 1, first: 2} == {fake.events[0]: 1, fake.webhooks.attempts[0]: 2}
    assert "sent" != sent != first
    with pytest.raises(IndexError, match="there is no number 2: there are 2"):
        fake.events[2]

    body = sent.body
    fake.reset()
    fake.send_text()
    assert fake.events[0] != sent
    assert fake.webhooks.attempts[0] != first
    assert ("sent", body, sent) == (sent.status, sent.body, first.event)


def test_handles_show_themselves_in_a_word(fake):
    submission = fake.submit_text()
    message = fake.send_text()

    assert repr(submission) == "<Submission to +15550100: submitted>"
    assert f"<Message {message.id} to +15550100: sent, held 0.05>" == repr(message)
    assert f"<Event {fake.events[0].id} sent m1 (message {message.id})>" == repr(fake.events[0])
    assert repr(fake.clock) == "<Clock at 2026-01-01T12:00:00+00:00>"
    assert repr(fake) == "<ChatFake sync, 1 message: available 99.95, held 0.05, charged 0 USD>"
    assert repr(fake.webhooks.receiver()) == "<Receiver of 0 webhooks>"
    assert [timedelta(seconds=1)] == list(
        fake.webhooks.connect(handler=print, retry_after=[1]).retry_after
    )


def test_views_are_sequences_that_go_on_growing(fake):
    messages = fake.messages
    assert messages == []
    first, second = (fake.send_text(to=f"+{number}") for number in range(2))

    assert (first, second) == messages == fake.messages
    assert messages != "something else"
    assert (second,) == messages[1:]
    assert second == messages[-1]
    assert first in messages
    assert f"[{first!r}, {second!r}]" == repr(messages)
    assert [second, first] == list(reversed(messages))
    with pytest.raises(IndexError):
        messages[2]
    first.deliver(devices=30)
    assert repr(fake.events).endswith(", ...]")
    assert len([fake.send_text() for _ in messages]) == 2  # those of when it began


# -- corners ---------------------------------------------------------------------------------------


def test_a_receiver_and_a_route_can_not_close_the_fake_that_waits_for_them(play):
    async def scenario(fake, do):
        endpoint = fake.webhooks.connect(handler=lambda _: fake.close())
        with pytest.raises(ChatFakeError, match=r"can't call close\(\) from a receiver"):
            await do(fake.send_text())
        endpoint.disconnect()
        fake.route("/close")(lambda _: fake.close())
        assert call_with_werkzeug(fake, "POST", "/close").status == 500
        with pytest.raises(ChatFakeError, match=r"can't call close\(\) from a receiver"):
            await do(fake.settle())
        await do(fake.send_text().deliver())

    play(scenario)


def test_a_fake_that_is_closed_twice_is_closed():
    fake = ChatFake()
    fake.close()
    fake.close()
    with fake:
        pass

    assert repr(fake).startswith("<ChatFake closed")


def test_a_traveller_that_somebody_else_ended_is_no_error_at_the_end():
    fake = ChatFake()
    fake.clock.advance(1)
    time_machine.travel(START).stop()  # ends the one on top, which is the fake's
    fake.close()

    assert time_machine.traveller_stack == []


def test_what_stands_for_many_things_counts_them(fake):
    receiver = fake.webhooks.receiver()
    fake.send_text()
    (attempt,) = fake.webhooks.attempts
    (request,) = receiver.requests

    assert repr(fake.webhooks) == "<Webhooks: 1 endpoint, 1 event, 1 attempt>"
    assert f"<chat_fake.api of the key ...{fake.api_key[-4:]}: 0 requests>" == repr(fake.api)
    about = f"sent m1 (message {fake.messages[0].id})"
    assert f"<WebhookRequest 1 of {about} at Receiver()>" == repr(request)
    assert f"<Attempt 1 at {attempt.event.id}, {about}, at Receiver(): status 200>" == repr(attempt)


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
async def test_a_submission_after_steps_is_named_as_the_test_wrote_it(submit, call):
    with frozen_fake(mode="async") as fake:
        fake.top_up(1)
        submit(fake)
        fake._engine.plan.next()  # the first step is performed
        with pytest.raises(NotAwaited, match=re.escape(f"{call} was not performed yet")):
            _ = fake.messages
        fake._engine.plan.drop()
