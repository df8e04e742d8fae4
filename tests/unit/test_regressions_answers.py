"""What went wrong once when the fake was called back, and must not again."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from pytest_chatfake import Message, WebhookRequest

SECONDS = 10


def ask_balance(fake: ChatFake) -> bytes:
    headers = {"X-API-Key": fake.api_key}
    request = urllib.request.Request(f"{fake.base_url}/v2/balance", headers=headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        body: bytes = response.read()
    return body


def test_a_price_function_may_ask_for_the_balance_over_http() -> None:
    with ChatFake() as fake:

        def price(_: Message) -> str:
            return "0.10" if b"100" in ask_balance(fake) else "0.20"

        message = fake.send_text(price=price)

        assert Decimal("0.10") == message.held


def test_a_message_that_is_sent_while_another_is_priced_keeps_its_own_id() -> None:
    with ChatFake() as fake:

        def price(message: Message) -> str:
            if message.body == "slow":
                other = threading.Thread(target=fake.send_text, args=("quick",))
                other.start()
                other.join(SECONDS)
            return "0.05"

        fake.send_text("slow", price=price)

        assert ["quick", "slow"] == [message.body for message in fake.messages]
        assert len({message.id for message in fake.messages}) == 2
        assert fake.messages[0].conversation == fake.messages[1].conversation


def test_a_failure_that_a_route_states_comes_back_at_the_next_settle() -> None:
    with ChatFake() as fake:

        @fake.route("/v2/messages")
        def send(_: object) -> dict[str, str]:
            pytest.fail("the app sent nonsense")

        response = Client(fake.wsgi_app).post("/v2/messages", headers={"X-API-Key": fake.api_key})

        assert 500 == response.status_code
        with pytest.raises(pytest.fail.Exception, match="the app sent nonsense"):
            fake.settle()


def test_an_interrupt_in_a_route_without_a_socket_is_not_an_answer() -> None:
    with ChatFake() as fake:

        @fake.route("/v2/messages")
        def send(_: object) -> dict[str, str]:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Client(fake.wsgi_app).post("/v2/messages", headers={"X-API-Key": fake.api_key})


def test_a_long_chain_of_replies_that_ends_is_not_endless() -> None:
    with ChatFake() as fake:

        def reply(_: WebhookRequest) -> None:
            if len(fake.messages) < 1_500:
                fake.send_text("Reply")

        fake.webhooks.connect(handler=reply)
        fake.send_text("First")

        assert 1_500 == len(fake.webhooks.attempts)


def test_a_lifespan_in_async_mode_wants_an_async_with() -> None:
    async def app(*_: object) -> None:
        raise NotImplementedError

    with (
        ChatFake(mode="async") as fake,
        pytest.raises(TypeError, match="async with"),
        fake.webhooks.lifespan(app),
    ):
        pass


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
