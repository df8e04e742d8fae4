"""The app served for real, as in production: sockets on both sides.

While it handles a webhook, the app asks the service for the balance. A fake that waited for the
webhook before it answers would never answer; a server with one thread shows it at once.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from billing_flask.testing import Billing
from flask import Flask
from werkzeug import Request
from werkzeug.serving import WSGIRequestHandler, make_server

from pytest_chatfake import ChatFake, Clock


class QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *args: Any) -> None:
        pass


@contextmanager
def served(app: Flask, *, threaded: bool) -> Iterator[str]:
    """Serve the app on a development server of its own, and yield its address."""
    server = make_server("127.0.0.1", 0, app, threaded=threaded, request_handler=QuietHandler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)
        assert not thread.is_alive()


@pytest.fixture(params=[True, False], ids=["threaded", "one thread"])
def url(request: pytest.FixtureRequest, app: Flask) -> Iterator[str]:
    with served(app, threaded=request.param) as address:
        yield address


def post(url: str, payload: object) -> Any:
    """Post JSON and return the JSON that came back."""
    address = urlsplit(url)
    connection = HTTPConnection(address.netloc, timeout=60)
    try:
        connection.request(
            "POST", address.path, json.dumps(payload), {"Content-Type": "application/json"}
        )
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_the_app_reads_the_balance_in_the_middle_of_a_webhook(
    chat_fake: ChatFake, app: Flask, url: str
) -> None:
    chat_fake.webhooks.connect(f"{url}/hooks/chat")
    chat_fake.set_balance("10.04")

    message = chat_fake.send_text().deliver().read()

    assert [attempt.status_code for attempt in chat_fake.webhooks.attempts] == [204, 204, 204]
    assert Billing(app).message(message.id)["status"] == "read"
    assert Billing(app).alerts() == ["low"]
    assert Billing(app).skipped_checks() == []


@pytest.mark.usefixtures("send_endpoint")
def test_a_message_sent_over_http_comes_back_as_webhooks(
    chat_fake: ChatFake, app: Flask, url: str
) -> None:
    chat_fake.webhooks.connect(f"{url}/hooks/chat")
    campaign = post(f"{url}/campaigns", {"name": "Spring sale"})
    order = {"to": "+4915550001", "body": "Sale ends today"}

    sent = post(f"{url}/campaigns/{campaign['id']}/messages", order)
    chat_fake.message(sent["id"]).deliver(devices=2).read()

    assert Billing(app).message(sent["id"])["campaign"] == campaign["id"]
    assert Billing(app).spend(campaign["id"])["charged"] == "0.05"


def test_events_arrive_in_the_order_in_which_they_happened(
    chat_fake: ChatFake, app: Flask, url: str
) -> None:
    chat_fake.webhooks.connect(f"{url}/hooks/chat")

    for number in range(6):
        chat_fake.send_text(to=f"+49155500{number:02}").deliver().read()

    attempted = [attempt.event.id for attempt in chat_fake.webhooks.attempts]
    assert attempted == [event.id for event in chat_fake.events]
    assert all(attempt.ok for attempt in chat_fake.webhooks.attempts)


@pytest.mark.chat_fake(timeout=0.5, retry_after=[10])
def test_a_single_threaded_app_misses_the_webhook_of_its_own_send_at_first(
    chat_fake: ChatFake, chat_clock: Clock, app: Flask
) -> None:
    @chat_fake.route("/v2/messages", webhooks_first=True)
    def send(request: Request) -> dict[str, str]:
        return {"id": chat_fake.send_text(to=request.get_json()["to"]).id}

    with served(app, threaded=False) as url:
        chat_fake.webhooks.connect(f"{url}/hooks/chat")
        campaign = post(f"{url}/campaigns", {"name": "Spring sale"})
        order = {"to": "+4915550001", "body": "Sale ends today"}
        sent = post(f"{url}/campaigns/{campaign['id']}/messages", order)
        chat_clock.advance(seconds=10)

        assert [attempt.ok for attempt in chat_fake.webhooks.attempts] == [False, True]
        assert Billing(app).message(sent["id"])["status"] == "sent"
