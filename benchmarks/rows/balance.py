"""``GET /v2/balance`` over loopback, with ``http.client``."""

from __future__ import annotations

import logging
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from ..measuring import Row, rates, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUERIES = 250


def query(port: int, key: str) -> Callable[[], bytes]:
    """Return a query over a connection that is kept as long as the server keeps it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"X-API-Key": key}

    def ask() -> bytes:
        connection.request("GET", "/v2/balance", headers=headers)
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, response.status
        return body

    return ask


def over_stub(rounds: int) -> Iterator[float]:
    from pytest_httpserver import HTTPServer

    from pytest_chatfake import ChatFake

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)  # a line on stderr for each request
    with ChatFake() as fake, HTTPServer("127.0.0.1", 0, threaded=True) as stub:
        stub.expect_request("/v2/balance", headers={"X-API-Key": fake.api_key}).respond_with_json(
            {"amount": 100, "currency": "USD"}
        )
        ours = query(int(fake.base_url.rpartition(":")[2]), fake.api_key)
        theirs = query(stub.port, fake.api_key)
        yield from rates(
            rounds,
            timed(ours, QUERIES, before=fake.reset),
            timed(theirs, QUERIES, before=stub.clear_log),
        )


ROWS = (
    Row(
        "balance-stub",
        "balance query over loopback / a pytest-httpserver stub (threaded, static JSON)",
        "at least",
        3.0,
        over_stub,
    ),
)
