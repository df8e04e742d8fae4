"""Real sockets, and more than one thing at a time."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
import uvicorn
from inbox_fastapi import Settings, create_app
from inbox_fastapi.testing import Inbox

from pytest_chatfake import ChatFake, Clock

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def url(settings: Settings) -> AsyncIterator[str]:
    """The app on uvicorn, in the loop of the test."""
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await serving


async def test_a_server_in_the_test_s_own_loop_asks_back_while_time_stands_still(
    chat_fake: ChatFake, chat_clock: Clock, url: str
) -> None:
    chat_fake.webhooks.connect(f"{url}/hooks/chat")

    message = await chat_fake.send_text().deliver(devices=2).read()

    async with httpx.AsyncClient(base_url=url) as client:
        inbox = Inbox(client)
        assert (await inbox.message(message.id))["status"] == "read"
        assert (await inbox.balance())["amount"] == "99.95"


async def test_two_people_at_once(chat_fake: ChatFake, inbox: Inbox) -> None:
    one, two = await asyncio.gather(
        chat_fake.send_text(to="+4915550001").deliver().read(),
        chat_fake.send_text(to="+4915550002").deliver(),
    )

    assert (await inbox.message(one.id))["status"] == "read"
    assert (await inbox.message(two.id))["status"] == "delivered"
    chat_fake.assert_charged("0.10")
