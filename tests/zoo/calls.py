"""Small apps with a bug that shows only if one of their own calls goes wrong, over a socket."""

from __future__ import annotations

import json
from contextlib import closing
from decimal import Decimal
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .apps import App

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

_ORDER = json.dumps({"to": "+15550100", "type": "text", "text": {"body": "On its way"}})


class Caller(App):
    """Calls the API, and confirms an order by a response or a webhook."""

    is_confirmed = False

    def connect(self, chat_fake: ChatFake) -> None:
        super().connect(chat_fake)
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        self.host = urlsplit(chat_fake.base_url).netloc
        self.headers = {"X-API-Key": chat_fake.api_key}

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status of a response, and its body; 0 if the connection was closed."""
        with closing(HTTPConnection(self.host, timeout=5)) as connection:
            connection.request(method, path, body, self.headers)
            try:
                response = connection.getresponse()
            except ConnectionError:
                return 0, {}
            return response.status, json.loads(response.read(), parse_float=Decimal)

    def send(self) -> int:
        status, _ = self.call("POST", "/v2/messages", _ORDER)
        self.is_confirmed |= status == 200
        return status

    def notify(self) -> None:
        """Send the message about an order, once; the bugs are here."""
        self.send()

    def take(self, id: str, message: dict[str, Any]) -> None:
        self.is_confirmed = True

    def scene(self, chat_fake: ChatFake) -> None:
        for _ in range(3):
            if not self.is_confirmed:
                self.notify()
            chat_fake.settle()
        assert 1 == len(chat_fake.messages)


class SendsAgainAfterSilence(Caller):
    """Asks again at once if no response came, without the order's key; the twin keeps the key."""

    unsure = 0

    def notify(self) -> None:
        self.headers["Idempotency-Key"] = "order-17"
        if self.send() == self.unsure:
            if self.bug:
                del self.headers["Idempotency-Key"]
            self.send()


class SendsAgainAfterAnError(SendsAgainAfterSilence):
    """Does so after a 503, though the message may have been sent."""

    unsure = 503


class TakesAnErrorForSent(Caller):
    """Confirms an order that was refused."""

    def notify(self) -> None:
        if self.send() == 503 and self.bug:
            self.is_confirmed = True


_SEND = "path='/v2/messages', method='POST', start=1"

CALLS: list[tuple[type[App], str, str]] = [
    (SendsAgainAfterSilence, "api.lose_response", f"api.lose_response({_SEND})"),
    (SendsAgainAfterAnError, "api.lose_response", f"api.lose_response(status=503, {_SEND})"),
    (TakesAnErrorForSent, "api.fail", f"api.fail(status=503, {_SEND})"),
]
