"""What is emitted is attempted, whatever ends an attempt, a block or a route."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, IllegalTransition

if TYPE_CHECKING:
    from pytest_chatfake import WebhookRequest


@pytest.mark.parametrize("status", ['quo"ted', "back\\slash", "line\nbreak", "\ud800", "é"])
def test_a_forged_status_may_be_any_text(status: str) -> None:
    with ChatFake() as fake:
        message = fake.send_text()
        fake.webhooks.emit(message, status)

        assert status == json.loads(fake.events[-1].body)["chatMessage"]["status"]
        assert status == fake.events[-1].status


def test_a_cancelled_attempt_leaves_the_other_endpoints_theirs() -> None:
    async def scenario() -> list[str]:
        got: list[str] = []

        async def endless(_: WebhookRequest) -> None:
            await asyncio.sleep(60)

        with ChatFake(mode="async") as fake:
            slow = fake.webhooks.connect(handler=endless)
            fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await fake.send_text()
            slow.disconnect()
            await fake.settle()
        return got

    assert ["sent"] == asyncio.run(scenario())


def test_an_outcome_of_pytest_leaves_the_other_endpoints_theirs() -> None:
    got: list[str] = []
    with ChatFake() as fake:
        failing = fake.webhooks.connect(handler=lambda _: pytest.fail("the app is wrong"))
        fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
        with pytest.raises(pytest.fail.Exception, match="the app is wrong"):
            fake.send_text()
        failing.disconnect()
        fake.settle()

    assert ["sent"] == got


def test_webhooks_go_on_after_a_paused_block_that_was_refused() -> None:
    async def scenario() -> list[str]:
        with ChatFake(mode="async") as fake:
            receiver = fake.webhooks.receiver()
            with pytest.raises(IllegalTransition):
                async with fake.webhooks.paused():
                    fake.send_text().fail().read()
            await fake.send_text()
            return [event.status for event in receiver.events]

    assert ["sent", "failed", "sent"] == asyncio.run(scenario())


def test_what_a_receiver_raises_before_the_answer_comes_back_in_the_test() -> None:
    def receiver(_: WebhookRequest) -> None:
        raise RuntimeError("the app is wrong")

    with ChatFake() as fake:
        fake.webhooks.connect(handler=receiver)

        @fake.route("/send", webhooks_first=True)
        def send(_: Any) -> dict[str, Any]:
            return {"id": fake.send_text().id}

        answer = Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})

        assert 200 == answer.status_code
        with pytest.raises(RuntimeError, match="the app is wrong"):
            fake.settle()


def test_a_task_that_a_receiver_started_awaits_its_own_chains_afterwards() -> None:
    async def story() -> list[str]:
        with ChatFake(mode="async") as fake:
            tasks: list[asyncio.Task[None]] = []
            over = asyncio.Event()

            async def reply() -> None:
                await over.wait()
                message = await fake.send_text("reply", to="b").deliver()
                assert "delivered" == message.status

            async def receiver(_: Any) -> None:
                if not tasks:
                    tasks.append(asyncio.create_task(reply()))

            fake.webhooks.connect(handler=receiver)
            await fake.send_text()
            over.set()
            await asyncio.gather(*tasks)
            return [attempt.event.status for attempt in fake.webhooks.attempts]

    assert ["sent", "sent", "delivered"] == asyncio.run(story())


def test_an_app_s_error_survives_the_cancellation_of_the_next_endpoint() -> None:
    async def story() -> None:
        with ChatFake(mode="async") as fake:

            async def bad(scope: Any, receive: Any, send: Any) -> None:
                raise ValueError("not lost")

            async def slow(scope: Any, receive: Any, send: Any) -> None:
                await asyncio.sleep(5)

            fake.webhooks.connect(asgi=bad)
            slow_one = fake.webhooks.connect(asgi=slow)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await fake.send_text()
            slow_one.disconnect()
            with pytest.raises(ValueError, match="not lost"):
                await fake.settle()

    asyncio.run(story())
