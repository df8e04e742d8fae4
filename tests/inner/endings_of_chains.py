import asyncio
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import pytest_asyncio


@pytest_asyncio.fixture
async def delivered(chat_fake):
    return await chat_fake.send_text().deliver()


@pytest_asyncio.fixture(loop_scope="session")
async def delivered_in_another_loop(chat_fake):
    return await chat_fake.send_text().deliver()


def post(fake):
    connection = HTTPConnection(urlsplit(fake.base_url).netloc, timeout=60)
    connection.request("POST", "/v2/messages", headers={"X-API-Key": fake.api_key})
    with connection.getresponse() as response:
        response.read()
    connection.close()
    return response.status


async def go_on(chat_fake, chat_receiver):
    @chat_fake.route("/v2/messages", webhooks_first=True)
    def send(request):
        return {"id": chat_fake.send_text().id}

    assert await asyncio.to_thread(post, chat_fake) == 200
    await chat_fake.messages[0].read()
    assert [event.status for event in chat_receiver.events] == ["sent", "read"]


pytestmark = [pytest.mark.asyncio, pytest.mark.chat_fake(timeout=2)]


async def test_of_this_loop(chat_fake, delivered, chat_receiver):
    await go_on(chat_fake, chat_receiver)


async def test_of_another_loop(chat_fake, delivered_in_another_loop, chat_receiver):
    await go_on(chat_fake, chat_receiver)
