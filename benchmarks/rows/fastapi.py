"""Events into a FastAPI app: awaited in the test's own loop, and from a plain test."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any

from ..measuring import Row, rates, timed
from .webhooks import MESSAGES, prepared_bodies, story

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/hooks/chat"


def make_app() -> Any:
    """Return an app that reads each event as any FastAPI app does."""
    from fastapi import FastAPI

    app = FastAPI()

    async def take(event: dict[str, Any]) -> dict[str, str]:
        assert event["type"] == "chat.message.updated"
        return {}

    app.post(PATH)(take)
    return app


def over_asgi_transport(rounds: int) -> Iterator[float]:
    """Compare awaited chains with posting their bytes, both in one loop."""
    import httpx

    from pytest_chatfake import ChatFake

    app = make_app()
    prepared = prepared_bodies()
    transport = httpx.ASGITransport(app=app)
    client = httpx.AsyncClient(transport=transport, base_url="http://testserver")
    with asyncio.Runner() as runner, ChatFake(mode="async") as fake:
        fake.webhooks.connect(asgi=app, path=PATH)

        async def start_over() -> None:
            await fake.reset()

        async def ours() -> None:
            for _ in range(MESSAGES):
                await fake.send_text("Sale ends today").deliver().read()

        async def theirs() -> None:
            for body in prepared:
                headers = {"Content-Type": "application/json"}
                assert (await client.post(PATH, content=body, headers=headers)).status_code == 200

        yield from rates(
            rounds,
            timed(lambda: runner.run(ours()), 1, before=lambda: runner.run(start_over())),
            timed(lambda: runner.run(theirs()), 1),
        )
        assert all(attempt.ok for attempt in fake.webhooks.attempts)
        assert len(fake.webhooks.attempts) == len(fake.events) > 0


def over_test_client(rounds: int) -> Iterator[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about httpx: its successor does as well
        from starlette.testclient import TestClient

    from pytest_chatfake import ChatFake

    app = make_app()
    # Inside its `with` the client keeps one loop, which is the faster way to use it.
    with ChatFake() as fake, TestClient(app) as client:
        fake.webhooks.connect(asgi=app, path=PATH)
        prepared = prepared_bodies()

        def post() -> None:
            for body in prepared:
                headers = {"Content-Type": "application/json"}
                assert client.post(PATH, content=body, headers=headers).status_code == 200

        yield from rates(rounds, timed(story(fake), MESSAGES, before=fake.reset), timed(post, 1))
        assert all(attempt.ok for attempt in fake.webhooks.attempts)


ROWS = (
    Row(
        "fastapi-httpx",
        "whole chains into a FastAPI app in async mode / httpx's ASGITransport, same posts",
        "at least",
        1.7,
        over_asgi_transport,
        needs=("fastapi", "httpx"),
    ),
    Row(
        "fastapi-testclient",
        "whole chains into a FastAPI app from a sync test / starlette's TestClient, same posts",
        "at least",
        5,
        over_test_client,
        needs=("fastapi", "httpx"),
    ),
)
