"""The suite with our fixtures: the fake causes the events, and knows the balance."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from shop import balance, is_open, make_app

if TYPE_CHECKING:
    from flask import Flask

    from pytest_chatfake import ChatFake, Clock


@pytest.fixture
def app(chat_fake: ChatFake) -> Flask:
    app = make_app(chat_fake.base_url, chat_fake.api_key)
    chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
    return app


@pytest.mark.parametrize("number", range(200))
def test_a_sale(number: int, app: Flask, chat_fake: ChatFake, chat_clock: Clock) -> None:
    message = chat_fake.send_text("Sale ends today").deliver().read()
    conversation = message.conversation

    assert app.config["STATUSES"] == {message.id: ["sent", "delivered", "read"]}
    assert app.config["SPENT"] == {message.id: Decimal("0.05")}
    assert balance(app) == Decimal("99.95")
    assert is_open(app, conversation.id)

    chat_clock.advance(days=1)

    assert not is_open(app, conversation.id)
