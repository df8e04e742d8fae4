"""The application factory: one webhook, and three kinds of event."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from .service import MessagingService, NotSentError
from .settings import Settings
from .store import Store


class Assistant:
    """Decides what an event means.

    Args:
        store: What it remembers.
        service: Where it sends its answers.
    """

    def __init__(self, store: Store, service: MessagingService) -> None:
        self.store = store
        self._service = service

    async def handle(self, event: dict[str, Any]) -> None:
        """Act on one event; others than these three are none of ours."""
        match event["type"]:
            case "chat.inbound_message.received":
                await self.on_incoming(event["chatInboundMessage"])
            case "chat.echo.received":
                self.on_echo(event["chatEcho"])
            case "chat.message.updated":
                self.on_status(event["chatMessage"])

    async def on_incoming(self, message: dict[str, Any]) -> None:
        """Answer a customer, once, unless the owner talks to them."""
        customer = message["from"]
        if self.store.is_new(message["id"]) and customer not in self.store.taken_over:
            written = message.get("text", {}).get("body", message["type"])  # such as an image
            try:
                await self.answer(customer, f"Thank you for writing: {written}")
            except NotSentError:  # the event comes again, since we don't accept it
                self.store.seen.discard(message["id"])
                raise

    def on_echo(self, message: dict[str, Any]) -> None:
        """The owner has written from their own phone: from now on they talk to the customer."""
        self.store.taken_over.add(message["to"])

    def on_status(self, message: dict[str, Any]) -> None:
        """Remember what became of an answer; what is not the assistant's is not its business."""
        answer = self.store.answers.get(message.get("externalId", ""))
        if answer is not None:
            answer.learn(message["id"], message["status"])

    async def answer(self, customer: str, body: str) -> None:
        """Send an answer, remembered first: its first webhook may come before this returns."""
        answer = self.store.begin(customer)
        try:
            resource = await self._service.send(customer, body, answer.external_id)
        except NotSentError:
            del self.store.answers[answer.external_id]
            raise
        answer.learn(resource["id"], resource["status"])


def create_app(settings: Settings, assistant: type[Assistant] = Assistant) -> FastAPI:
    """Build the app. It opens its connections when it starts."""
    store = Store()
    service = MessagingService(settings.messaging_url, settings.messaging_key)
    handler = assistant(store, service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(lifespan=lifespan)
    app.state.store = store

    @app.post("/greetings", status_code=202)
    async def greet(customer: str) -> None:
        """Let the assistant write first."""
        await handler.answer(customer, "How can we help you?")

    @app.post("/hooks/chat", status_code=204)
    async def receive(event: dict[str, Any]) -> None:
        await handler.handle(event)

    return app
