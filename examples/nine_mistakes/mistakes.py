"""Nine mistakes that apps make, each found by a test of a few lines; all fail, on purpose."""

from __future__ import annotations

import socket
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from shop import Shop

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake, Clock

PATH = "/hooks/chat"


def test_a_double_charge(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("a double charge")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)
    chat_fake.webhooks.duplicate(status="delivered")

    chat_fake.send_text("Sale ends today").deliver().read()

    assert shop.spent == Decimal("0.05")


def test_a_status_that_goes_back(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("a status that goes back")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)
    chat_fake.webhooks.delay(30, status="delivered")

    message = chat_fake.send_text("Sale ends today").deliver().read()
    chat_clock.advance(minutes=1)

    assert shop.statuses[message.id] == "read"


def test_a_wrong_amount(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("a wrong amount")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)

    chat_fake.send_text("Sale ends today").deliver()

    assert shop.spent == chat_fake.balance.charged


def test_a_302_response(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("a 302 response")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)

    message = chat_fake.send_text("Sale ends today").deliver()

    assert shop.statuses.get(message.id) == "delivered"


def test_an_exception_in_the_handler(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("an exception in the handler")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)

    message = chat_fake.send_text("Sale ends today").deliver()

    assert shop.statuses.get(message.id) == "delivered"


def test_a_swallowed_exception(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("a swallowed exception")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)

    message = chat_fake.send_text("Sale ends today").deliver()

    assert shop.statuses.get(message.id) == "delivered"


def test_no_signature_check(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("no signature check")
    chat_fake.webhooks.connect(
        wsgi=shop.app, path=PATH, signer=lambda request: {"X-Signature": "right"}
    )
    chat_fake.webhooks.sign(lambda request: {"X-Signature": "forged"}, status="delivered")

    message = chat_fake.send_text("Sale ends today").deliver()

    assert shop.statuses[message.id] == "sent"


@pytest.mark.chat_fake(timeout=0.2)
def test_a_handler_that_never_responds(chat_fake: ChatFake, chat_clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        chat_fake.webhooks.connect(f"http://{host}:{port}{PATH}")

        chat_fake.send_text("Sale ends today")

    chat_fake.assert_requested("GET", "/v2/balance")


@pytest.mark.asyncio
async def test_a_forgotten_await(chat_fake: ChatFake, chat_clock: Clock) -> None:
    shop = Shop("")
    chat_fake.webhooks.connect(wsgi=shop.app, path=PATH)

    chat_fake.send_text("Sale ends today").deliver()

    assert shop.spent == Decimal("0.05")
