"""The app under test, and the messaging service it believes to talk to."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from inbox_fastapi import Settings, create_app
from inbox_fastapi.testing import Inbox
from werkzeug import Request

from pytest_chatfake import ChatFake


@pytest.fixture
def settings(chat_fake: ChatFake, tmp_path: Path) -> Settings:
    return Settings(
        database=f"sqlite+aiosqlite:///{tmp_path}/inbox.sqlite3",
        messaging_url=chat_fake.base_url,
        messaging_key=chat_fake.api_key,
    )


@pytest_asyncio.fixture
async def app(chat_fake: ChatFake, settings: Settings) -> AsyncIterator[FastAPI]:
    """The app, started in the test's own loop, where its connections live, and connected."""
    app = create_app(settings)
    async with chat_fake.webhooks.lifespan(app):
        chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
        yield app


@pytest_asyncio.fixture
async def inbox(app: FastAPI) -> AsyncIterator[Inbox]:
    """The app as its users see it."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield Inbox(client)


@pytest.fixture
def send_endpoint(chat_fake: ChatFake) -> None:
    """Our contract for sending. The fake brings the balance query; this one is ours to state."""

    @chat_fake.route("/v2/messages")
    def send(request: Request) -> tuple[dict[str, str], int]:
        order = request.get_json()
        message = chat_fake.send_text(order["text"]["body"], to=order["to"])
        return {"id": message.id}, 202
