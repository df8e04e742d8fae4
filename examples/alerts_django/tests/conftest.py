"""The app under test, and the messaging service it believes to talk to."""

from typing import Any

import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application

from pytest_chatfake import ChatFake


@pytest.fixture(autouse=True)
def messaging(chat_fake: ChatFake, settings: Any) -> None:
    """Point the app at the fake."""
    settings.MESSAGING_URL = chat_fake.base_url
    settings.MESSAGING_KEY = chat_fake.api_key


@pytest.fixture(params=["wsgi", "asgi"])
def connected(request: pytest.FixtureRequest, chat_fake: ChatFake) -> None:
    """Post webhooks to the app in process, served the one way and the other."""
    if request.param == "wsgi":
        chat_fake.webhooks.connect(wsgi=get_wsgi_application(), path="/hooks/chat")
    else:
        chat_fake.webhooks.connect(asgi=get_asgi_application(), path="/hooks/chat")
