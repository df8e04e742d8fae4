"""The app in every world: events that come late, twice or unheard."""

from itertools import count
from pathlib import Path

import httpx
import pytest
from inbox_fastapi import Settings, create_app
from inbox_fastapi.testing import Inbox

from pytest_chatfake import ChatFake, Explorer


@pytest.mark.asyncio
async def test_a_message_is_shown_as_read_whatever_comes(
    chat_explore: Explorer, tmp_path: Path
) -> None:
    numbers = count()

    async def world(chat_fake: ChatFake) -> None:
        settings = Settings(
            database=f"sqlite+aiosqlite:///{tmp_path}/{next(numbers)}.sqlite3",
            messaging_url=chat_fake.base_url,
            messaging_key=chat_fake.api_key,
        )
        app = create_app(settings)
        async with chat_fake.webhooks.lifespan(app):
            chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")

            message = await chat_fake.send_text("It is on its way").deliver().read()
            await chat_fake.settle()

            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
                shown = await Inbox(client).message(message.id)
        assert (shown["status"], shown["price"]) == ("read", "0.05")

    explored = await chat_explore(world, depth=1)  # each world is a database and a lifespan
    assert explored.complete
    assert explored.worlds > 5
