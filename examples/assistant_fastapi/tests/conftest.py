"""The app under test, and the messaging service it believes to talk to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import httpx
import pytest
from assistant_fastapi import Settings, create_app
from assistant_fastapi.app import Assistant
from assistant_fastapi.store import Store
from fastapi import FastAPI

from pytest_chatfake import ChatFake

ECHO = "chat.echo.received"


class Shop:
    """What happens at the shop: customers write, the owner writes, and the assistant remembers."""

    def __init__(self, chat_fake: ChatFake, app: FastAPI) -> None:
        self._chat_fake = chat_fake
        self._app = app
        self.store: Store = app.state.store

    async def assistant_writes(self, customer: str = "+4915") -> None:
        """The assistant writes first."""
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            answer = await client.post("/greetings", params={"customer": customer})
        assert answer.status_code == 202, answer.text

    async def customer_writes(self, body: str, customer: str = "+4915") -> None:
        """A customer writes to the shop, and all that follows from it happens."""
        await self._chat_fake.recipient(customer).writes(body)

    async def owner_writes(self, body: str, customer: str = "+4915") -> None:
        """The owner writes to a customer from their own phone."""
        message = {"id": "echo-1", "to": customer, "type": "text", "text": {"body": body}}
        await self._chat_fake.webhooks.emit_event(ECHO, message)


OpenShop = Callable[..., AbstractAsyncContextManager[Shop]]


@asynccontextmanager
async def opened(
    chat_fake: ChatFake, assistant: type[Assistant] = Assistant, *, webhooks_first: bool = False
) -> AsyncIterator[Shop]:
    """Run the app, with its assistant or a mistaken one, and connect it for all events."""
    settings = Settings(messaging_url=chat_fake.base_url, messaging_key=chat_fake.api_key)
    chat_fake.send_endpoint(echo=["externalId"], webhooks_first=webhooks_first)
    app = create_app(settings, assistant)
    async with chat_fake.webhooks.lifespan(app):
        chat_fake.webhooks.connect(asgi=app, path="/hooks/chat", events="*")
        yield Shop(chat_fake, app)


@pytest.fixture
def open_shop(chat_fake: ChatFake) -> OpenShop:
    """Open the shop of the test's own fake."""
    return partial(opened, chat_fake)


@pytest.fixture
def open_shop_of() -> OpenShop:
    """Open the shop of any fake."""
    return opened
