"""Events into a FastAPI app: awaited in the test's own loop, and from a plain test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..measuring import Contestant, Row, rates, timed
from .webhooks import MESSAGES, bodies, story

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


def in_loop(rounds: int, make_post: Callable[[Any], Callable[[bytes], Awaitable[int]]]) -> Any:
    """Compare awaited chains with posting their bytes, both in one loop."""
    from pytest_chatfake import ChatFake

    app = make_app()
    with ChatFake() as plain:
        prepared = bodies(plain)
    with asyncio.Runner() as runner, ChatFake(mode="async") as fake:
        fake.webhooks.connect(asgi=app, path=PATH)
        post = make_post(app)

        async def settle() -> None:
            await fake.reset()

        async def ours() -> None:
            for _ in range(MESSAGES):
                await fake.send_text("Sale ends today").deliver().read()

        async def theirs() -> None:
            for _ in range(MESSAGES):
                for body in prepared:
                    assert await post(body) == 200

        def contestant(work: Callable[[], Any], before: Callable[[], Any] | None) -> Contestant:
            prepare = (lambda: None) if before is None else (lambda: runner.run(before()))
            return timed(lambda: runner.run(work()), 1, before=prepare)

        yield from rates(rounds, contestant(ours, settle), contestant(theirs, None))
        assert all(attempt.ok for attempt in fake.webhooks.attempts)


def over_minimal(rounds: int) -> Iterator[float]:
    return in_loop(rounds, lambda app: lambda body: minimal_call(app, body))


def over_asgi_transport(rounds: int) -> Iterator[float]:
    import httpx

    def make_post(app: Any) -> Callable[[bytes], Awaitable[int]]:
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://testserver"
        )

        async def post(body: bytes) -> int:
            headers = {"Content-Type": "application/json"}
            return (await client.post(PATH, content=body, headers=headers)).status_code

        return post

    return in_loop(rounds, make_post)


def over_test_client(rounds: int) -> Iterator[float]:
    from starlette.testclient import TestClient

    from pytest_chatfake import ChatFake

    app = make_app()
    # Inside its `with` the client keeps one loop, which is the faster way to use it.
    with ChatFake() as fake, TestClient(app) as client:
        fake.webhooks.connect(asgi=app, path=PATH)
        prepared = bodies(fake)

        def post() -> None:
            for body in prepared:
                headers = {"Content-Type": "application/json"}
                assert client.post(PATH, content=body, headers=headers).status_code == 200

        yield from rates(
            rounds, timed(story(fake), MESSAGES, before=fake.reset), timed(post, MESSAGES)
        )
        assert all(attempt.ok for attempt in fake.webhooks.attempts)


ROWS = (
    Row(
        "fastapi-minimal",
        "events into a FastAPI app in async mode / a minimal ASGI call with the same bytes",
        "at least",
        0.7,
        over_minimal,
        needs=("fastapi",),
    ),
    Row(
        "fastapi-httpx",
        "the same / httpx's ASGITransport doing the same posts",
        "at least",
        2,
        over_asgi_transport,
        needs=("fastapi", "httpx"),
    ),
    Row(
        "fastapi-testclient",
        "events into a FastAPI app from a sync test / starlette's TestClient, same posts",
        "at least",
        5,
        over_test_client,
        needs=("fastapi", "httpx2"),
    ),
)
