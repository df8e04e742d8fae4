"""The app under test, and the messaging service it believes to talk to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from billing_flask import create_app
from billing_flask.testing import Billing, Campaign
from flask import Flask

from pytest_chatfake import ChatFake

AppFactory = Callable[..., Flask]


@pytest.fixture
def make_app(tmp_path: Path) -> AppFactory:
    """Build an app on a fresh database; it knows no messaging service unless it is told."""

    def make(**config: Any) -> Flask:
        return create_app(
            {
                "DATABASE": str(tmp_path / "billing.sqlite3"),
                "DATABASE_SYNC": False,
                "TESTING": True,
                "MESSAGING_BASE_URL": "",
                **config,
            }
        )

    return make


@pytest.fixture
def app(make_app: AppFactory, chat_fake: ChatFake) -> Flask:
    """The app, talking to the fake as it would to the service: over HTTP, with a key."""
    return make_app(
        MESSAGING_BASE_URL=chat_fake.base_url,
        MESSAGING_API_KEY=chat_fake.api_key,
        LOW_BALANCE="10",
    )


@pytest.fixture
def billing(app: Flask, chat_fake: ChatFake) -> Billing:
    """The app with the fake's webhooks connected to it."""
    chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
    return Billing(app)


@pytest.fixture
def send_endpoint(chat_fake: ChatFake) -> None:
    """Our contract for sending: the response only promises, and the first event says `sent`."""
    chat_fake.send_endpoint(status="accepted")


@pytest.fixture
def make_campaign(
    billing: Billing, chat_fake: ChatFake, send_endpoint: None
) -> Callable[[str], Campaign]:
    def make(name: str) -> Campaign:
        return Campaign(billing, chat_fake, name)

    return make


@pytest.fixture
def campaign(make_campaign: Callable[[str], Campaign]) -> Campaign:
    return make_campaign("Spring sale")
