"""A reset begins anew: nothing of before it is attempted, recorded or taken for something new."""

from contextlib import closing
from http.client import HTTPConnection

import pytest

from pytest_chatfake import ChatFakeError, ClosedError

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake, received_statuses, section
from .test_forgeries import SIGNER, App


def test_an_event_that_a_reset_overtakes_goes_to_no_other_endpoint(fake):
    resets = [fake.reset]
    fake.webhooks.connect(handler=lambda _: resets.pop()() and None if resets else None)
    receiver = fake.webhooks.receiver()
    fake.send_text("before")

    assert [
        received_statuses(receiver),
        list(fake.messages),
        [*fake.webhooks.attempts],
    ] == [[], [], []]
    fake.send_text("after")
    assert received_statuses(receiver) == ["sent"]


def test_what_a_receiver_does_after_its_reset_is_recorded(fake):
    def begin_anew(_):
        if fake.messages and fake.messages[0].body == "before":
            fake.reset()
            fake.webhooks.lose()
            fake.send_text("after")

    fake.webhooks.connect(handler=begin_anew)
    fake.send_text("before")

    assert [message.body for message in fake.messages] == ["after"]
    assert [attempt.fault for attempt in fake.webhooks.attempts] == ["lose"]


def test_a_receiver_does_not_get_what_a_reset_overtakes():
    resets = []

    def sign(_):
        if resets:
            resets.pop()()
        return {"X-Signature": "1"}

    with frozen_fake(signer=sign) as fake:
        receiver = fake.webhooks.receiver()
        resets.append(fake.reset)
        fake.send_text("before")
        assert received_statuses(receiver) == []
        fake.send_text("after")
        assert received_statuses(receiver) == ["sent"]


ABOUT = {
    "events": lambda fake, old: old.events,
    "deliver": lambda fake, old: old.deliver(),
    "read": lambda fake, old: old.read(),
    "fail": lambda fake, old: old.fail(),
}


@pytest.mark.parametrize("what", ABOUT)
def test_a_message_of_before_is_not_taken_for_the_new_one_with_its_id(fake, what):
    old = fake.send_text("old")
    fake.reset()
    new = fake.send_text("new")
    assert new.id == old.id != ""

    with pytest.raises(ClosedError, match="no longer exists: the fake was reset"):
        ABOUT[what](fake, old)
    assert [old.body, old.status] == ["old", "sent"]
    assert [event.status for event in new.events] == ["sent"]


def test_what_a_route_raised_before_a_reset_does_not_come_back_after_it(fake):
    @fake.route("/send")
    def send(_):
        raise LookupError("of before")

    response = call_with_werkzeug(fake, "POST", "/send")
    assert response.status == 500
    fake.reset()  # raises nothing, and neither does what follows

    fake.settle()
    assert fake.send_text("after").status == "sent"


def test_a_block_that_was_reset_can_not_tell_what_it_charged(fake):
    with pytest.raises(ChatFakeError, match=r"^expect_charge\(\) can't tell: .* reset"):
        with fake.expect_charge("0.05"):
            fake.send_text().deliver()
            fake.reset()
            fake.send_text().deliver()


def test_a_conversation_from_before_a_reset_is_gone(fake):
    conversation = fake.send_text().deliver().conversation
    assert conversation is not None
    fake.reset()

    with pytest.raises(ClosedError, match=f"conversation {conversation.id} no longer exists"):
        fake.send_text(conversation=conversation)
    assert (list(fake.messages), list(fake.conversations)) == ([], [])
    assert str(fake.send_text(conversation=conversation.id).deliver().charged) == "0.05"


@pytest.mark.parametrize("decide", ["accept", "reject"])
def test_a_submission_of_before_a_reset_is_gone(fake, decide):
    text, other = fake.submit_text("before"), fake.submit("image", {"url": "x"})
    fake.reset()
    for submission in (text, other):
        with pytest.raises(ClosedError, match="the fake was reset after it was made"):
            getattr(submission, decide)()
    assert list(fake.messages) == []
    assert fake.submit_text("after").accept().status == "sent"


@pytest.mark.asyncio
async def test_in_async_mode_it_counts_when_the_steps_are_performed(fake):
    before = fake.submit_text("before")
    fake.reset()
    after = fake.submit_text("after").accept()
    await after
    assert after.status == "sent"
    with pytest.raises(ClosedError, match="the fake was reset after it was made"):
        await before.accept()


@pytest.mark.asyncio
async def test_in_async_mode_no_event_of_before_is_emitted_after_the_reset(fake):
    before = await fake.send_text("before")
    fake.reset()
    fake.webhooks.emit(before, "read")
    with pytest.raises(ClosedError, match="the fake was reset after it was sent"):
        await fake.settle()
    assert list(fake.events) == []


@pytest.mark.asyncio
async def test_in_async_mode_a_check_looks_at_what_came_after_the_reset(fake):
    fake.webhooks.connect(handler=App("accepts everything"), signer=SIGNER)
    fake.reset()
    fake.send_text("after")
    with pytest.raises(AssertionError, match="forgeries got through"):
        await fake.webhooks.assert_rejects_forgeries()


def test_a_wait_in_which_the_fake_is_reset_names_what_is_queued_now(fake):
    fake.webhooks.receiver()

    @fake.route("/send")
    def send(_):
        fake.reset()
        fake.send_text("after")

    with pytest.raises(AssertionError, match="sent m1 is queued"):
        fake.wait_until(
            lambda: call_with_werkzeug(fake, "POST", "/send") is None, timeout=0.01, settle=False
        )
    fake.settle()


# What goes on after a reset in the middle of it


def look(fake):
    """Make every report, and return what happened with the kinds of the causes."""
    kinds = {entry.number: entry.kind for entry in fake.timeline}
    assert "sent m1" in str(fake.timeline)
    assert "sent m1" in section(fake)
    assert fake.timeline.svg()
    assert "0.05" in fake.explain(fake.messages[0])
    with pytest.raises(AssertionError, match="charged: expected 1"):
        fake.assert_charged(1)
    return [
        entry.kind if entry.cause is None else f"{entry.kind} by {kinds[entry.cause]}"
        for entry in fake.timeline
    ]


#: A verb without a cause, because what has called it is forgotten; and what the verb causes.
AFTER = ["verb", "hold by verb", "event by verb", "attempt by event"]


@pytest.mark.parametrize("before", [0, 3])
def test_a_route_that_resets_the_fake_and_sends_leaves_a_whole_history(fake, before):
    fake.webhooks.receiver()

    @fake.route("/send")
    def send(_):
        fake.reset()
        return {"id": fake.send_text("after").id}

    for _ in range(before):
        fake.send_text("before")
    response = call_with_werkzeug(fake, "POST", "/send")

    assert (200, {"id": fake.messages[0].id}) == (response.status, response.json())
    fake.settle()
    assert look(fake) == AFTER


@pytest.mark.parametrize("raises", [True, False])
def test_a_route_that_resets_the_fake_responds_and_its_error_comes_back(fake, raises):
    @fake.route("/reset")
    def reset(_):
        fake.reset()
        if raises:
            raise LookupError("after the reset")

    connection = HTTPConnection(*fake.base_url.removeprefix("http://").split(":"), timeout=10)
    with closing(connection):
        for _ in range(2):  # the connection is kept
            connection.request("POST", "/reset", headers=fake.headers)
            response = connection.getresponse()
            response.read()
            assert response.status == (500 if raises else 204)
    if raises:
        with pytest.raises(LookupError, match="after the reset"):
            fake.settle()
    assert fake.api.requests == ()  # they belong to what the reset has forgotten
    assert fake.send_text().status == "sent"


def test_after_a_reset_no_fault_of_before_moves_the_clock_to_retries(fake):
    fake.webhooks.connect(handler=lambda _: 500, retry_after=[60])
    fake.webhooks.lose_response()
    fake.send_text()
    fake.settle()
    fake.reset()
    fake.send_text()
    fake.settle()

    assert len(fake.webhooks.attempts) == 1
