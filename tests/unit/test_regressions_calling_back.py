"""Code that calls the fake from the middle of an attempt, or of an answer, waits for nobody."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import WebhookRequest

#: Real seconds that an attempt may take here, far more than any of these calls should need.
LONG = 3.0

CALLS: dict[str, Callable[[ChatFake], Any]] = {
    "settle": lambda fake: fake.settle(),
    "advance": lambda fake: fake.clock.advance(1),
    "assert_held": lambda fake: fake.assert_held("0.05"),
    "explain": lambda fake: fake.explain(fake.messages[0]),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_async_receiver_does_not_wait_for_its_own_attempt(call: str) -> None:
    async def scenario() -> float:
        with ChatFake(mode="async", timeout=LONG) as fake:

            async def receiver(_: WebhookRequest) -> None:
                performing = CALLS[call](fake)
                if call in {"settle", "advance"}:
                    await performing

            fake.webhooks.connect(handler=receiver)
            before = time.monotonic()
            await fake.send_text()
            return time.monotonic() - before

    assert asyncio.run(scenario()) < LONG / 2


def test_an_assertion_beside_an_attempt_does_not_block_the_loop() -> None:
    async def scenario() -> float:
        with ChatFake(mode="async", timeout=LONG) as fake:
            begun = asyncio.Event()

            async def receiver(_: WebhookRequest) -> None:
                begun.set()
                await asyncio.sleep(0.01)

            async def send() -> None:
                await fake.send_text()

            fake.webhooks.connect(handler=receiver)
            sending = asyncio.create_task(send())
            await begun.wait()
            before = time.monotonic()
            fake.assert_held("0.05")
            took = time.monotonic() - before
            await sending
            return took

    assert asyncio.run(scenario()) < LONG / 2


@pytest.mark.parametrize("call", CALLS)
def test_a_route_that_a_receiver_calls_does_not_wait_for_the_attempt(call: str) -> None:
    with ChatFake(timeout=LONG) as fake:

        @fake.route("/call")
        def answer(_: Any) -> dict[str, Any]:
            CALLS[call](fake)
            return {}

        def receiver(_: WebhookRequest) -> None:
            request = Request(fake.base_url + "/call", b"", {"X-API-Key": fake.api_key})
            with urlopen(request, timeout=2 * LONG):
                pass

        fake.webhooks.connect(handler=receiver)
        before = time.monotonic()
        fake.send_text()

        assert time.monotonic() - before < LONG / 2


def test_what_a_route_sent_is_attempted_before_time_moves() -> None:
    with ChatFake() as fake:
        receiver = fake.webhooks.receiver()

        @fake.route("/send")
        def send(_: Any) -> dict[str, Any]:
            return {"id": fake.send_text().id}

        fake.clock.advance(1)
        sent_at = fake.clock.now
        Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})
        fake.clock.advance(hours=25)

        assert [sent_at] == [attempt.at for attempt in fake.webhooks.attempts]
        assert ["sent"] == [event.status for event in receiver.events]


def test_what_a_route_sent_is_attempted_before_time_moves_in_async_mode() -> None:
    async def scenario() -> None:
        with ChatFake(mode="async") as fake:
            fake.webhooks.receiver()

            @fake.route("/send")
            def send(_: Any) -> dict[str, Any]:
                return {"id": fake.send_text().id}

            await fake.clock.advance(1)
            sent_at = fake.clock.now
            Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})
            await fake.clock.advance(hours=25)

            assert [sent_at] == [attempt.at for attempt in fake.webhooks.attempts]

    asyncio.run(scenario())
