"""``GET /v2/balance``: over loopback with ``http.client``, and in process with httpx."""

from __future__ import annotations

import logging
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from ..measuring import Row, rates, timed
from ..servers import balance_server

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


def over_bare_socket(rounds: int) -> Iterator[float]:
    from pytest_chatfake import ChatFake

    with ChatFake() as fake:
        ours = query(int(fake.base_url.rpartition(":")[2]), fake.api_key)
        with balance_server(ours()) as port:
            theirs = query(port, fake.api_key)
            assert ours() == theirs()
            yield from rates(
                rounds, timed(ours, 4 * QUERIES, before=fake.reset), timed(theirs, 4 * QUERIES)
            )


def over_respx(rounds: int) -> Iterator[float]:
    import httpx
    import respx

    from pytest_chatfake import ChatFake

    url = "http://127.0.0.1/v2/balance"
    with ChatFake() as fake, respx.mock() as router:
        headers = {"X-API-Key": fake.api_key}
        in_process = httpx.Client(transport=httpx.WSGITransport(app=fake.wsgi_app))
        mocked = httpx.Client()
        router.get(url, headers=headers).respond(json={"amount": 100, "currency": "USD"})

        def ask(client: httpx.Client) -> None:
            assert client.get(url, headers=headers).status_code == 200

        with in_process, mocked:
            yield from rates(
                rounds,
                timed(lambda: ask(in_process), QUERIES, before=fake.reset),
                timed(lambda: ask(mocked), QUERIES, before=router.calls.reset),
            )


ROWS = (
    Row(
        "balance-stub",
        "balance query over loopback / a pytest-httpserver stub (threaded, static JSON)",
        "at least",
        3.0,
        over_stub,
    ),
    Row(
        "balance-bare",
        "balance query over loopback / a bare socket server that answers fixed bytes",
        "at least",
        0.55,
        over_bare_socket,
        better=0.7,
    ),
    Row(
        "balance-respx",
        "balance query without a socket through httpx WSGITransport / respx",
        "at least",
        1.5,
        over_respx,
        needs=("httpx", "respx"),
    ),
)
