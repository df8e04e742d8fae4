"""The suite by hand: canned events, a stub for the balance, and time-machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pytest_httpserver import HTTPServer
from shop import balance, is_open, make_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient
    from time_machine import TimeMachineFixture

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = "2026-01-01T12:00:00.000Z"
TOMORROW = "2026-01-02T12:00:00.000Z"


def event(status: str, **times: str) -> dict[str, Any]:
    kind = {} if status == "sent" else {"type": "REGULAR"}
    return {
        "id": f"evt_{status}",
        "type": "chat.message.updated",
        "apiVersion": "v2",
        "createTime": NOW,
        "chatMessage": {
            "id": "5ca1ab1e",
            "chatMessageId": "wamid.5ca1ab1e",
            "status": status,
            "conversation": {
                "id": "c0ffee",
                **kind,
                "originType": "marketing",
                "expireTime": TOMORROW,
            },
            "totalPrice": 0.05,
            "currency": "USD",
            "createTime": NOW,
            "sendTime": NOW,
            **times,
            "bizType": "chat",
            "type": "text",
            "text": {"body": "Sale ends today"},
        },
    }


SENT = event("sent")
DELIVERED = event("delivered", deliverTime=NOW)
READ = event("read", deliverTime=NOW, readTime=NOW)


class Stub(HTTPServer):
    """Stops at once: pytest-httpserver takes up to half a second, and all of it is waiting."""

    def thread_target(self) -> None:
        self.server.serve_forever(poll_interval=0.01)


@pytest.fixture(scope="session")
def service() -> Iterator[HTTPServer]:
    with Stub("127.0.0.1", 0) as stub:
        stub.expect_request("/v2/balance", headers={"X-API-Key": "a key"}).respond_with_json(
            {"amount": 99.95, "currency": "USD"}
        )
        yield stub


@pytest.fixture
def client(service: HTTPServer, time_machine: TimeMachineFixture) -> FlaskClient:
    time_machine.move_to(START, tick=False)
    return make_app(service.url_for(""), "a key").test_client()


@pytest.mark.parametrize("number", range(200))
def test_a_sale(number: int, client: FlaskClient, time_machine: TimeMachineFixture) -> None:
    app = client.application

    for one in (SENT, DELIVERED, READ):
        assert client.post("/hooks/chat", json=one).status_code == 204

    assert app.config["STATUSES"] == {"5ca1ab1e": ["sent", "delivered", "read"]}
    assert app.config["SPENT"] == {"5ca1ab1e": Decimal("0.05")}
    assert balance(app) == Decimal("99.95")
    assert is_open(app, "c0ffee")

    time_machine.shift(timedelta(days=1))

    assert not is_open(app, "c0ffee")
