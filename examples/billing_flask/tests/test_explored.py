"""The app in every world: events late, twice, refused, or before the send call's response."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

from billing_flask import create_app
from billing_flask.testing import Billing, Campaign

from pytest_chatfake import ChatFake, WebhookTests

#: In memory, and shared by connections for as long as one of them is open.
DATABASE = "file:/explored-billing?vfs=memdb"


class TestWebhooks(WebhookTests):
    """A message of a campaign reaches two devices, and is read."""

    def connect(self, chat_fake: ChatFake) -> Iterator[Callable[[], dict[str, Any]]]:
        with closing(sqlite3.connect(DATABASE, uri=True)):
            app = create_app(
                {
                    "DATABASE": DATABASE,
                    "TESTING": True,
                    "MESSAGING_BASE_URL": chat_fake.base_url,
                    "MESSAGING_API_KEY": chat_fake.api_key,
                }
            )
            chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
            chat_fake.send_endpoint()
            billing = Billing(app)
            self.campaign = Campaign(billing, chat_fake, "Spring sale")
            yield lambda: {
                "charged": Decimal(self.campaign.charged),
                "reserved": Decimal(self.campaign.reserved),
                "messages": [billing.message(message.id) for message in chat_fake.messages],
            }

    def expected(self, chat_fake: ChatFake) -> dict[str, Any]:
        balance = chat_fake.balance
        return {"charged": balance.charged, "reserved": balance.held, "messages": ANY}

    def scenario(self, chat_fake: ChatFake) -> None:
        self.campaign.send().deliver(devices=2).read()
