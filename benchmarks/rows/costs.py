"""What a piece of the fake's own work costs: the figures that ``--against`` compares."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import time_machine

from ..measuring import Row, alternate, costs, timed
from .exploring import PATH, START
from .webhooks import MESSAGES, story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_chatfake import ChatFake

EVENTS = 3  # of a message that is sent, delivered and read
WORLDS = 100


def ignore(event: object) -> None:
    """Handle an event at no cost."""


def bare_wsgi(environ: object, start_response: Callable[..., object]) -> tuple[()]:
    """Accept a post without reading it."""
    start_response("204 No Content", [])
    return ()


def message(rounds: int, **endpoint: Any) -> Iterator[float]:
    from pytest_chatfake import ChatFake

    with ChatFake() as fake:
        if endpoint:
            fake.webhooks.connect(**endpoint)
        yield from costs(rounds, timed(story(fake), MESSAGES, before=fake.reset), MESSAGES)
        assert len(fake.webhooks.attempts) == (EVENTS * MESSAGES if endpoint else 0)


def attempt(rounds: int) -> Iterator[float]:
    """Time what an endpoint adds to a message, for each of its events."""
    from pytest_chatfake import ChatFake

    with ChatFake() as posting, ChatFake() as silent:
        posting.webhooks.connect(handler=ignore)
        posts, stays_silent = (
            timed(story(fake), MESSAGES, before=fake.reset) for fake in (posting, silent)
        )
        for with_posts, without in alternate(rounds, posts, stays_silent, slices=2):
            yield (with_posts - without) / (2 * MESSAGES * EVENTS) * 1e6


def in_async_mode(rounds: int) -> Iterator[float]:
    from pytest_chatfake import ChatFake

    with asyncio.Runner() as runner, ChatFake(mode="async") as fake:
        fake.webhooks.connect(handler=ignore)

        async def start_over() -> None:
            await fake.reset()

        async def ours() -> None:
            for _ in range(MESSAGES):
                await fake.send_text("Sale ends today").deliver().read()

        told = timed(lambda: runner.run(ours()), 1, before=lambda: runner.run(start_over()))
        yield from costs(rounds, told, MESSAGES)
        assert len(fake.webhooks.attempts) == EVENTS * MESSAGES


def drop(rounds: int) -> Iterator[float]:
    """Time an ``advance()`` that drops many messages."""
    from pytest_chatfake import ChatFake

    with time_machine.travel(START, tick=False), ChatFake() as fake:

        def send() -> None:
            fake.reset()
            for _ in range(MESSAGES):
                fake.send_text("Sale ends today")

        yield from costs(rounds, timed(lambda: fake.clock.advance(days=30), 1, send), MESSAGES)
        assert all(message.dropped for message in fake.messages)


def exploration(rounds: int) -> Iterator[float]:
    """Explore an app that keeps the newest status, without the share of a framework."""
    from pytest_chatfake import explore

    rank = ["", "sent", "delivered", "read"].index

    def body(fake: ChatFake) -> None:
        statuses: dict[str, str] = {}

        def take(environ: dict[str, Any], start_response: Callable[..., object]) -> tuple[()]:
            told = json.load(environ["wsgi.input"])["chatMessage"]
            statuses[told["id"]] = max(statuses.get(told["id"], ""), told["status"], key=rank)
            return bare_wsgi(environ, start_response)

        fake.webhooks.connect(wsgi=take, path=PATH)
        for person in "+1", "+2":
            fake.send_text("Sale ends today", to=person).deliver().read()
        fake.settle()

    def explored() -> None:
        assert explore(body, limit=WORLDS).worlds == WORLDS

    yield from costs(rounds, timed(explored, 1), WORLDS)


ROWS = tuple(
    Row(name, title, "at most", None, sample, unit="µs")
    for name, title, sample in (
        (
            "message",
            "a message that is sent, delivered and read, with a plain function as the handler",
            partial(message, handler=ignore),
        ),
        ("message-silent", "a message without an endpoint", message),
        (
            "message-wsgi",
            "a message, posted to a WSGI app that does nothing",
            partial(message, wsgi=bare_wsgi, path=PATH),
        ),
        ("message-async", "a message in async mode", in_async_mode),
        ("attempt", "what the handler adds to a message, for each event", attempt),
        ("drop", "a message that advance() drops", drop),
        ("world", f"exploring {WORLDS} worlds of a body of 6 events, per world", exploration),
    )
)
