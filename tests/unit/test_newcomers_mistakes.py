"""Mistakes that a newcomer makes, and what the fake says to them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, HmacSigner
from pytest_chatfake.report.section import section

from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable


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


async def app_of_a_lifespan(scope: Any, receive: Any, send: Any) -> None:
    raise AttributeError("'State' object has no attribute 'db'")


def call_another_path(fake: ChatFake) -> None:
    fake.webhooks.receiver()
    fake.send_endpoint()
    Client(fake.wsgi_app).post("/messages", headers=fake.headers)


def be_refused(fake: ChatFake, status: int, **how: Any) -> None:
    fake.webhooks.connect(handler=lambda request: status, **how)
    fake.send_text()


def send_before_the_fault(fake: ChatFake) -> None:
    fake.webhooks.receiver()
    fake.send_text()
    fake.webhooks.duplicate()


def forget_who_listens(fake: ChatFake) -> None:
    fake.webhooks.connect(handler=lambda request: None)
    fake.recipient("+1").writes("STOP")


def read_at_once(fake: ChatFake) -> None:
    fake.webhooks.receiver()
    fake.send_text().read()


def forget_the_lifespan(fake: ChatFake) -> None:
    fake.webhooks.connect(asgi=app_of_a_lifespan, path="/hooks")
    fake.send_text()


#: What the first line says of each; `examples/nine_mistakes` has more of them.
MISTAKES: dict[str, tuple[Callable[[ChatFake], object], str]] = {
    "no endpoint": (lambda fake: fake.send_text(), "no endpoint was connected"),
    "nobody listens": (forget_who_listens, 'connect the app with events="*"'),
    "a late fault": (send_before_the_fault, "it reaches later events only"),
    "a 503 without a retry": (lambda fake: be_refused(fake, 503), "connect(retry_after=[10])"),
    "another secret": (
        lambda fake: be_refused(fake, 401, signer=HmacSigner("secret")),
        "does the app verify with the same secret?",
    ),
    "another path": (call_another_path, "404 (your routes: POST /v2/messages)"),
    "no lifespan": (forget_the_lifespan, "enter chat_fake.webhooks.lifespan(app)"),
    "no delivery": (read_at_once, "call deliver() before read() to get one"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_first_line_of_a_section_names_the_cause(mistake: str) -> None:
    do, cause = MISTAKES[mistake]
    with suppress(Exception), frozen_fake() as fake:
        try:
            do(fake)
        finally:
            title, first = section(fake._story).splitlines()[:2]

    assert "What to look at" == title
    assert cause in first
