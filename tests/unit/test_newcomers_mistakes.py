"""Mistakes that a newcomer makes, and what the fake says to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from flask import Flask
from werkzeug.test import Client

from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from collections.abc import Callable


async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
    raise NotImplementedError


class AsgiApp:
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("connect", "advice"),
    [
        (lambda fake: fake.webhooks.connect(Flask("x")), "by name: wsgi=, asgi= or handler="),
        (lambda fake: fake.webhooks.connect(asgi=Flask("x")), "connect it as wsgi="),
        (lambda fake: fake.webhooks.connect(wsgi=asgi_app), "connect it as asgi="),
        (lambda fake: fake.webhooks.connect(wsgi=AsgiApp()), "connect it as asgi="),
    ],
)
def test_an_app_that_is_connected_as_something_else_is_told_apart(
    fake: ChatFake, connect: Callable[[ChatFake], object], advice: str
) -> None:
    with pytest.raises(TypeError, match=advice):
        connect(fake)

    fake.send_text()
    assert () == fake.webhooks.attempts  # nothing was connected


def test_statuses_are_written_one_by_one(fake: ChatFake) -> None:
    message = fake.send_text()

    with pytest.raises(TypeError, match="one by one"):
        fake.assert_statuses(message, ["sent"])  # type: ignore[arg-type]


def test_a_status_that_was_forged_can_be_expected(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.webhooks.emit(message, "played")

    fake.assert_statuses(message, "sent", "played")
    with pytest.raises(ValueError, match="'plaid' is none"):
        fake.assert_statuses(message, "sent", "plaid")


def test_a_queue_that_was_never_entered_holds_nothing_back(fake: ChatFake) -> None:
    queue = fake.webhooks.paused()

    with pytest.raises(RuntimeError, match=r"write `with webhooks\.paused"):
        queue.release()


def test_of_two_routes_for_the_same_request_the_last_one_answers(fake: ChatFake) -> None:
    @fake.route("/v2/messages", methods=["POST", "PUT"])
    def first(_: object) -> dict[str, int]:
        return {"route": 1}

    @fake.route("/v2/messages")
    def second(_: object) -> tuple[dict[str, int], int]:
        return {"route": 2}, 503

    client = Client(fake.wsgi_app)
    headers = {"X-API-Key": fake.api_key}

    assert 503 == client.post("/v2/messages", headers=headers).status_code
    assert {"route": 1} == client.put("/v2/messages", headers=headers).json


def test_a_route_is_no_coroutine_function(fake: ChatFake) -> None:
    with pytest.raises(TypeError, match="write `def`, not `async def`"):

        @fake.route("/v2/messages")
        async def send(_: object) -> dict[str, int]:
            raise NotImplementedError


def test_a_length_that_timedelta_does_not_know_lists_what_it_knows(fake: ChatFake) -> None:
    with pytest.raises(TypeError, match=r"advance\(\): expected numbers, got {'seconds': '5'}"):
        fake.clock.advance(seconds="5")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes days=, hours=.*not months="):
        fake.clock.advance(months=1)


def test_a_lifespan_is_refused_in_the_other_mode_s_words() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("never called")

    async def wrong(fake: ChatFake) -> None:
        async with fake.webhooks.lifespan(app):
            pass

    with ChatFake() as fake, pytest.raises(TypeError, match="in sync mode: write `with`, not"):
        asyncio.run(wrong(fake))
    with (
        ChatFake(mode="async") as fake,
        pytest.raises(TypeError, match="in async mode: write `async with`, not"),
        fake.webhooks.lifespan(app),
    ):
        pass
