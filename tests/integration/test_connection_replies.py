"""Replies over a socket, and what they do to the connection on purpose."""

# Asserts read `expected == actual`.

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING

import pytest
import time_machine

from pytest_chatfake.transport.server.replies import Reply

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
    FakeApi,
    RawClient,
    eventually,
)

if TYPE_CHECKING:
    from pytest_chatfake.transport.server.listener import Listener

GET = b"GET /answer HTTP/1.1\r\n\r\n"


@pytest.fixture(params=["balance", "answer"])
def ask(request: pytest.FixtureRequest, api: FakeApi) -> bytes:
    """Ask the short way, or the general one, for a reply that ``lay`` laid down."""
    return QUERY if request.param == "balance" else GET


def lay(api: FakeApi, reply: Reply) -> None:
    api.reply = api.answers["/answer"] = reply


def test_a_reply_is_written_as_it_is(client: RawClient, api: FakeApi, ask: bytes) -> None:
    lay(api, Reply(429, b"slow\n", (("Retry-After", "30"),), content_type="text/plain"))

    answer = client.ask(ask)

    assert (
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
        b"Retry-After: 30\r\n\r\n"
    ) == answer.head
    assert b"slow\n" == answer.body


def test_a_status_that_http_does_not_know_has_no_text(
    client: RawClient, api: FakeApi, ask: bytes
) -> None:
    lay(api, Reply(599, b""))

    assert client.ask(ask).head.startswith(b"HTTP/1.1 599 \r\n")


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_gets_none(
    client: RawClient, api: FakeApi, ask: bytes, status: int
) -> None:
    lay(api, Reply(status, b"ignored", (("X-A", "1"),)))
    client.send(ask)
    answer = client.receive(bodiless=True)

    assert {"x-a": "1"} == answer.headers
    assert status == client.ask(ask).status  # the next answer starts right here


def test_a_delay_passes_in_real_time_while_process_time_stands_still(
    client: RawClient, api: FakeApi, ask: bytes
) -> None:
    lay(api, Reply(200, b"late", delay=0.1))
    begin = time.monotonic()
    with time_machine.travel(0, tick=False):
        answer = client.ask(ask)

    assert b"late" == answer.body
    assert 0.1 <= time.monotonic() - begin < SECONDS


def test_a_delay_holds_up_nobody_else(listener: Listener, api: FakeApi) -> None:
    with RawClient(listener) as slow, RawClient(listener) as quick:
        api.answers["/answer"] = Reply(200, b"late", delay=10 * SECONDS)
        slow.send(GET)
        assert eventually(lambda: bool(api.dispatched))
        assert BALANCE == quick.ask(QUERY).body


def test_a_stop_does_not_wait_for_a_delay(listener: Listener, api: FakeApi, ask: bytes) -> None:
    with RawClient(listener) as client:
        lay(api, Reply(200, b"late", delay=10 * SECONDS))
        client.send(ask)
        assert eventually(lambda: bool(api.queries or api.dispatched))
        begin = time.monotonic()
        listener.stop()

        assert SECONDS > time.monotonic() - begin
        assert client.hung_up()


@pytest.mark.parametrize("delay", [0.0, 0.01])
def test_a_disconnect_closes_without_an_answer(
    client: RawClient, api: FakeApi, ask: bytes, delay: float
) -> None:
    lay(api, Reply(200, b"never", disconnect=True, delay=delay))
    client.send(ask)

    assert client.hung_up()


def test_a_disconnect_is_an_error_in_http_client(listener: Listener, api: FakeApi) -> None:
    api.reply = Reply(200, b"never", disconnect=True)
    client = http.client.HTTPConnection(listener.host, listener.port, timeout=SECONDS)
    client.request("GET", "/v2/balance")

    with pytest.raises(http.client.RemoteDisconnected):
        client.getresponse()
    client.close()


def test_a_truncated_answer_promises_more_than_it_gives(
    client: RawClient, api: FakeApi, ask: bytes
) -> None:
    lay(api, Reply(200, b'{"amou', declared_length=31))
    answer = client.ask(ask)

    assert ("31", "close") == (answer.headers["content-length"], answer.headers["connection"])
    assert b'{"amou' == answer.body
    assert client.hung_up()


def test_a_truncated_answer_is_an_error_in_http_client(listener: Listener, api: FakeApi) -> None:
    api.reply = Reply(200, b'{"amou', declared_length=31)
    client = http.client.HTTPConnection(listener.host, listener.port, timeout=SECONDS)
    client.request("GET", "/v2/balance")

    with pytest.raises(http.client.IncompleteRead) as caught:
        client.getresponse().read()
    assert (b'{"amou', 25) == (caught.value.partial, caught.value.expected)
    client.close()


def test_the_connection_goes_on_after_each_kind_of_error_status(
    client: RawClient, api: FakeApi, ask: bytes
) -> None:
    for status in (400, 401, 404, 429, 500, 503):
        lay(api, Reply(status, b"{}"))
        assert status == client.ask(ask).status


def test_an_api_that_raises_is_a_500_and_the_error_comes_back(
    listener: Listener, client: RawClient, monkeypatch: pytest.MonkeyPatch, api: FakeApi, ask: bytes
) -> None:
    def broken(*_: object) -> Reply:
        raise ZeroDivisionError("in the API")

    monkeypatch.setattr(api, "balance", broken)
    monkeypatch.setattr(api, "dispatch", broken)
    answer = client.ask(ask)

    assert {
        "error": {
            "status": 500,
            "code": "INTERNAL_SERVER_ERROR",
            "message": "a handler raised ZeroDivisionError",
        }
    } == json.loads(answer.body)
    with pytest.raises(ZeroDivisionError, match="in the API"):
        listener.check()
    listener.check()  # once
