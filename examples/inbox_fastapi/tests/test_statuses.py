"""What a message can go through. Each ``await`` performs a whole chain, webhooks included."""

import httpx
import pytest
from fastapi import FastAPI
from inbox_fastapi.testing import Inbox
from werkzeug import Request

from pytest_chatfake import ChatFake, Clock

pytestmark = pytest.mark.asyncio


async def test_a_message_is_shown_as_read(chat_fake: ChatFake, inbox: Inbox) -> None:
    message = await chat_fake.send_text("It is on its way").deliver().read()

    shown = await inbox.message(message.id)
    assert shown["body"] == "It is on its way"
    assert shown["status"] == "read"
    assert (shown["price"], shown["currency"]) == ("0.05", "USD")


async def test_a_second_device_changes_nothing(chat_fake: ChatFake, inbox: Inbox) -> None:
    message = await chat_fake.send_text().deliver()
    before = await inbox.message(message.id)

    await message.deliver()

    assert await inbox.message(message.id) == before


async def test_a_message_that_fails_says_why_and_costs_nothing(
    chat_fake: ChatFake, inbox: Inbox
) -> None:
    message = await chat_fake.send_text().fail()

    shown = await inbox.message(message.id)
    assert shown["status"] == "failed"
    assert shown["price"] == "0"
    assert shown["problem"] == message.events[-1].json()["chatMessage"]["errorMessage"]


async def test_the_team_finds_what_nobody_has_got(chat_fake: ChatFake, inbox: Inbox) -> None:
    await chat_fake.send_text("one", to="+4915550001").deliver()
    await chat_fake.send_text("two", to="+4915550002")
    await chat_fake.send_text("three", to="+4915550003")

    assert await inbox.listed("sent") == ["two", "three"]


async def test_a_conversation_is_open_for_24_hours(
    chat_fake: ChatFake, chat_clock: Clock, inbox: Inbox
) -> None:
    message = await chat_fake.send_text().deliver()
    assert (await inbox.message(message.id))["conversationOpen"]

    await chat_clock.advance(hours=23, minutes=59)
    assert (await inbox.message(message.id))["conversationOpen"]

    await chat_clock.advance(minutes=1)
    assert not (await inbox.message(message.id))["conversationOpen"]


async def test_an_event_that_comes_twice_is_applied_once(chat_fake: ChatFake, inbox: Inbox) -> None:
    chat_fake.webhooks.duplicate(times=None)

    await chat_fake.send_text().deliver()

    assert len(chat_fake.webhooks.attempts) == 4
    assert (await inbox.balance())["looks"] == 2


async def test_a_late_event_takes_no_status_back(chat_fake: ChatFake, inbox: Inbox) -> None:
    async with chat_fake.webhooks.paused() as queue:
        message = await chat_fake.send_text().deliver().read()
        await queue.release(order="reversed")

    assert (await inbox.message(message.id))["status"] == "read"


async def test_the_app_sends_and_learns_what_became_of_it(
    chat_fake: ChatFake, inbox: Inbox, send_endpoint: None
) -> None:
    message_id = await inbox.reply("+4915550001", "It is on its way")

    await chat_fake.settle()  # the webhook of what a route has sent
    assert (await inbox.message(message_id))["status"] == "sent"

    await chat_fake.message(message_id).deliver()
    assert (await inbox.message(message_id))["status"] == "delivered"


async def test_a_webhook_may_come_before_the_answer_to_the_send_call(
    chat_fake: ChatFake, inbox: Inbox
) -> None:
    @chat_fake.route("/v2/messages", webhooks_first=True)
    def send(request: Request) -> dict[str, str]:
        return {"id": chat_fake.send_text("Quick", to=request.get_json()["to"]).id}

    message_id = await inbox.reply("+4915550001", "Quick")

    assert (await inbox.message(message_id))["status"] == "sent"


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type": "chat.message.updated"}', b"\xff"])
async def test_what_is_no_event_is_refused(app: FastAPI, body: bytes) -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        response = await client.post("/hooks/chat", content=body)
    assert response.status_code == 400
