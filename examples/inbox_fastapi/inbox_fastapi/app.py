"""The application factory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import BackgroundTasks, FastAPI, HTTPException, Request
from pydantic import BaseModel, Field

from . import events, watch
from .models import Message
from .service import MessagingService, ServiceError
from .settings import Settings
from .store import Store


class Reply(BaseModel):
    """What a member of the team answers to a customer."""

    to: Annotated[str, Field(min_length=1)]
    body: Annotated[str, Field(min_length=1)]


def create_app(settings: Settings) -> FastAPI:
    """Build the app. It opens its database and its connections when it starts."""
    store = Store(settings.database)
    service = MessagingService(settings.messaging_url, settings.messaging_key)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await store.open()
        watching = asyncio.create_task(watch.keep_looking(store, service, settings.look_every))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await service.close()
            await store.close()

    app = FastAPI(lifespan=lifespan)

    @app.post("/hooks/chat", status_code=204)
    async def receive(request: Request, later: BackgroundTasks) -> None:
        """Apply one event. Whatever is answered but 2xx may make the service send it again."""
        try:
            event = events.parse(await request.body())
        except events.EventError as error:
            raise HTTPException(400, str(error)) from None
        if await store.apply(event):
            # After the answer: the service need not wait for our question.
            later.add_task(watch.look, store, service)

    @app.post("/replies", status_code=202)
    async def reply(reply: Reply) -> dict[str, str]:
        """Send a message; what becomes of it, webhooks tell."""
        try:
            return {"id": await service.send(reply.to, reply.body)}
        except ServiceError as error:
            raise HTTPException(502, str(error)) from None

    @app.get("/messages")
    async def list_messages(status: str | None = None) -> list[dict[str, Any]]:
        return [_shown(message) for message in await store.messages(status)]

    @app.get("/messages/{message_id}")
    async def show_message(message_id: str) -> dict[str, Any]:
        message = await store.message(message_id)
        if message is None:
            raise HTTPException(404, "no webhook has told of this message")
        return _shown(message)

    @app.get("/balance")
    async def show_balance() -> dict[str, Any]:
        """Show the last look at the balance, and whether it is time to top up."""
        readings = await store.readings()
        last = readings[-1] if readings else None
        amount = last.amount if last else None
        return {
            "amount": None if amount is None else _text(amount),
            "low": amount is not None and amount < settings.low_balance,
            "problem": last.problem if last else None,
            "looks": len(readings),
        }

    return app


def _shown(message: Message) -> dict[str, Any]:
    ends = message.conversation_ends
    return {
        "id": message.id,
        "body": message.body,
        "status": message.status,
        "price": _text(message.price),
        "currency": message.currency,
        "problem": message.problem,
        # While it is open, a further message costs nothing.
        "conversationOpen": ends is not None and datetime.now(UTC) < ends,
    }


def _text(amount: Decimal) -> str:
    return format(amount, "f")
