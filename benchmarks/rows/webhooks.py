"""Webhooks: over loopback, and into a Flask app in process.

Our side is all that a test causes: the verb, its rules, the body, the attempt and the records.
The other side only posts bodies that were written before.
"""

from __future__ import annotations

from http.client import HTTPConnection
from typing import TYPE_CHECKING

from ..measuring import Row, rates, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_chatfake import ChatFake

MESSAGES = 100


def story(fake: ChatFake) -> Callable[[], object]:
    """Return three verbs, and so three events."""
    return lambda: fake.send_text("Sale ends today").deliver().read()


def prepared_bodies() -> list[bytes]:
    """Return the bytes of as many stories as a slice tells: each event is another one."""
    from pytest_chatfake import ChatFake

    with ChatFake() as fake:
        tell = story(fake)
        for _ in range(MESSAGES):
            tell()
        return [event.body for event in fake.events]


def to_url(rounds: int) -> Iterator[float]:
    from pytest_chatfake import ChatFake

    from ..servers import webhook_receiver

    with webhook_receiver() as port, ChatFake() as fake:
        fake.webhooks.connect(f"http://127.0.0.1:{port}/hooks/chat")
        prepared = prepared_bodies()
        connection = HTTPConnection("127.0.0.1", port, timeout=10)

        def post() -> None:
            for body in prepared:
                connection.request(
                    "POST", "/hooks/chat", body, headers={"Content-Type": "application/json"}
                )
                response = connection.getresponse()
                response.read()
                assert response.status == 200

        yield from rates(
            rounds,
            timed(story(fake), MESSAGES, before=fake.reset),
            timed(post, 1),
        )
        assert all(attempt.ok for attempt in fake.webhooks.attempts)


def into_flask(rounds: int) -> Iterator[float]:
    from flask import Flask, request
    from werkzeug.test import Client

    from pytest_chatfake import ChatFake

    app = Flask(__name__)

    @app.post("/hooks/chat")
    def take() -> dict[str, str]:
        assert request.get_json()["type"] == "chat.message.updated"
        return {}

    with ChatFake() as fake:
        fake.webhooks.connect(wsgi=app, path="/hooks/chat")
        prepared = prepared_bodies()
        client = Client(app)

        def post() -> None:
            for body in prepared:
                response = client.post("/hooks/chat", data=body, content_type="application/json")
                assert response.status_code == 200

        yield from rates(
            rounds,
            timed(story(fake), MESSAGES, before=fake.reset),
            timed(post, 1),
        )
        assert all(attempt.ok for attempt in fake.webhooks.attempts)


ROWS = (
    Row(
        "webhook-url",
        "webhook over loopback to a keep-alive receiver / a bare http.client loop, same bytes",
        "at least",
        0.6,
        to_url,
    ),
    Row(
        "webhook-flask",
        "events into a Flask app as WSGI / werkzeug's Client posting the same bytes",
        "at least",
        1.2,
        into_flask,
        needs=("flask",),
    ),
)
