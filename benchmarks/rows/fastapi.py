"""Events into a FastAPI app: awaited in the test's own loop, and from a plain test."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING, Any

from ..measuring import Row, rates, timed
from .webhooks import MESSAGES, prepared_bodies, story

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

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


async def minimal_call(app: Any, body: bytes) -> int:
    """Post with as little as the app can do with."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "query_string": b"",
        "headers": [
            (b"host", b"testserver"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ],
    }
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]

    await app(scope, receive, send)
    return status


def in_loop(
    rounds: int, post: Callable[[Any, bytes], Awaitable[int]], *, verbs: bool = True
) -> Iterator[float]:
    """Compare awaited chains with posting their bytes, both in one loop.

    Without ``verbs``, these went ahead, untimed, and the time is that of the attempts alone.
    """
    from pytest_chatfake import ChatFake

    app = make_app()
    prepared = prepared_bodies()
    with asyncio.Runner() as runner, ChatFake(mode="async") as fake:
        fake.webhooks.connect(asgi=app, path=PATH)
        pause = fake.webhooks.paused()

        async def tell() -> None:
            for _ in range(MESSAGES):
                await fake.send_text("Sale ends today").deliver().read()

        async def start_over() -> None:
            await fake.reset()

        async def tell_in_a_pause() -> None:
            await fake.reset()
            await pause.__aenter__()
            await tell()

        async def end_pause() -> None:
            await pause.__aexit__(None, None, None)

        async def theirs() -> None:
            for body in prepared:
                assert await post(app, body) == 200

        before, ours = (start_over, tell) if verbs else (tell_in_a_pause, end_pause)
        yield from rates(
            rounds,
            timed(lambda: runner.run(ours()), 1, before=lambda: runner.run(before())),
            timed(lambda: runner.run(theirs()), 1),
        )
        assert all(attempt.ok for attempt in fake.webhooks.attempts)
        assert len(fake.webhooks.attempts) == len(fake.events) > 0


def attempts_over_minimal(rounds: int) -> Iterator[float]:
    return in_loop(rounds, minimal_call, verbs=False)


def chains_over_minimal(rounds: int) -> Iterator[float]:
    return in_loop(rounds, minimal_call)


def over_asgi_transport(rounds: int) -> Iterator[float]:
    import httpx

    client: httpx.AsyncClient | None = None

    async def post(app: Any, body: bytes) -> int:
        nonlocal client
        if client is None:
            transport = httpx.ASGITransport(app=app)
            client = httpx.AsyncClient(transport=transport, base_url="http://testserver")
        headers = {"Content-Type": "application/json"}
        return (await client.post(PATH, content=body, headers=headers)).status_code

    return in_loop(rounds, post)


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
        "fastapi-minimal",
        "attempts at a FastAPI app in async mode / a minimal ASGI call with the same bytes",
        "at least",
        0.7,
        attempts_over_minimal,
        needs=("fastapi",),
    ),
    Row(
        "fastapi-chains",
        "the same, and the verbs that cause them: whole chains / the same minimal calls",
        "at least",
        0.65,
        chains_over_minimal,
        needs=("fastapi",),
    ),
    Row(
        "fastapi-httpx",
        "whole chains into a FastAPI app in async mode / httpx's ASGITransport, same posts",
        "at least",
        2,
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
