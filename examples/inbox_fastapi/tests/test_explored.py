"""The app in every world: events that come late, twice or refused."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from typing import Any

import httpx
from inbox_fastapi import Settings, create_app
from inbox_fastapi.testing import Inbox

from pytest_chatfake import ChatFake, WebhookTests

#: In memory, and shared by connections for as long as one of them is open.
DATABASE = "file:/explored-inbox?vfs=memdb"


class TestWebhooks(WebhookTests):
    """What the inbox shows of each message: its status, its price, its problem."""

    async def connect(self, chat_fake: ChatFake) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
        settings = Settings(
            database=f"sqlite+aiosqlite:///{DATABASE}&uri=true",
            messaging_url=chat_fake.base_url,
            messaging_key=chat_fake.api_key,
        )
        app = create_app(settings)
        transport = httpx.ASGITransport(app)
        with closing(sqlite3.connect(DATABASE, uri=True)):
            async with (
                chat_fake.webhooks.lifespan(app),
                httpx.AsyncClient(transport=transport, base_url="http://testserver") as client,
            ):
                chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
                yield Inbox(client).messages

    def expected(self, chat_fake: ChatFake) -> list[dict[str, Any]]:
        return [
            {
                "id": message.id,
                "body": message.body,
                "status": message.status,
                "price": f"{message.total_price:f}",
                "currency": "USD",
                "problem": None,
                "conversationOpen": message.conversation.state == "open",
            }
            for message in chat_fake.messages
            if message.conversation is not None
        ]

    async def scenario(self, chat_fake: ChatFake) -> None:
        await chat_fake.send_text("It is on its way").deliver().read()
