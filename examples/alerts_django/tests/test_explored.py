"""The app in every world: events that come late, twice or refused."""

from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest
from alerts_django.models import Message
from django.core.wsgi import get_wsgi_application

from pytest_chatfake import ChatFake, WebhookTests


@pytest.fixture(autouse=True)
def messaging() -> None:
    """Point the app at no fake: each world has its own, and webhooks make the app ask nothing."""


@pytest.mark.django_db(transaction=True)
class TestCommitted(WebhookTests):
    """All worlds of a test have one database, so each begins by emptying the table."""

    def connect(self, chat_fake: ChatFake) -> Callable[[], list[Any]]:
        Message.objects.all().delete()
        chat_fake.webhooks.connect(wsgi=get_wsgi_application(), path="/hooks/chat")
        return lambda: list(Message.objects.order_by("id").values())

    def expected(self, chat_fake: ChatFake) -> list[Any]:
        return [
            {
                "id": message.id,
                "status": message.status,
                "price": message.total_price,
                "currency": "USD",
                "problem": ANY if message.status == "failed" else "",
            }
            for message in chat_fake.messages
        ]


@pytest.mark.django_db
class TestInTheTestsTransaction(TestCommitted):
    """The same, faster, where nothing is committed."""

    # Attempts at the same time run in threads, which wait for the test's transaction.
    test_duplicates_at_once = test_two_events_at_once = None
