"""The balance query over a socket: the short way, the general way, and both on one connection."""

# Asserts read `expected == actual`.

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING

import pytest
import requests

from pytest_chatfake.transport.server.replies import Reply

from .listener_support import BALANCE, QUERY, SECONDS, FakeApi, RawClient

if TYPE_CHECKING:
    from pytest_chatfake.transport.server.listener import Listener

# The same query in forms that the short way declines.
GENERAL = {
    "with an empty body": QUERY[:-2] + b"Content-Length: 0\r\n\r\n",
    "in HTTP/1.0": QUERY.replace(b"1.1", b"1.0")[:-2] + b"Connection: Keep-Alive\r\n\r\n",
    "in absolute form": QUERY.replace(b" /v2", b" http://127.0.0.1/v2"),
    "with bare line feeds": QUERY.replace(b"\r\n", b"\n"),
    "after a blank line": b"\r\n" + QUERY,
}
OTHER = b"POST /other HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.answers["/other"] = lambda request: Reply(200, request.get_data())
    return api


def test_the_answer_is_short_and_complete(client: RawClient) -> None:
    answer = client.ask(QUERY)

    assert (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n"
        == answer.head
    )
    assert BALANCE == answer.body


def test_a_plain_query_never_becomes_a_werkzeug_request(client: RawClient, api: FakeApi) -> None:
    client.ask(QUERY)

    assert [("k", "/v2/balance")] == api.queries
    assert [] == api.dispatched


@pytest.mark.parametrize("query", GENERAL.values(), ids=GENERAL)
def test_the_general_way_gives_the_same_answer(
    client: RawClient, api: FakeApi, query: bytes
) -> None:
    answer = client.ask(query)

    assert (200, BALANCE) == (answer.status, answer.body)
    assert ["k"] == [key for key, _ in api.queries]
    assert 1 == len(api.dispatched)
    assert BALANCE == client.ask(QUERY).body  # and the connection goes on


def test_a_query_string_reaches_the_api(client: RawClient, api: FakeApi) -> None:
    client.ask(QUERY.replace(b"balance", b"balance?a=1&b=%20"))

    assert [("k", "/v2/balance?a=1&b=%20")] == api.queries
    assert [] == api.dispatched


@pytest.mark.parametrize("path", [b"/v2/balances", b"/v2/balance/", b"/v2/Balance", b"/v2/balanc"])
def test_a_path_that_only_looks_like_it_is_not_the_balance(
    client: RawClient, api: FakeApi, path: bytes
) -> None:
    assert 404 == client.ask(QUERY.replace(b"/v2/balance", path)).status
    assert [] == api.queries


KEYS = {
    "upper case": (b"X-API-KEY: k", "k"),
    "lower case": (b"x-api-key: k", "k"),
    "no space": (b"X-API-Key:k", "k"),
    "space around": (b"X-API-Key: \t k \t", "k"),
    "inner space": (b"X-API-Key: a b", "a b"),
    "empty": (b"X-API-Key:", ""),
    "missing": (b"X-API-Keys: k", None),
    "not ASCII": (b"X-API-Key: cl\xe9-\x80\xff\xa0", "clé-\x80\xff\xa0"),
    "UTF-8": ("X-API-Key: ключ".encode(), "ключ".encode().decode("latin-1")),
    "control characters": (b"X-API-Key: a\x0b\x1c\x85b", "a\x0b\x1c\x85b"),
    "twice": (b"X-API-Key: a\r\nx-api-key: b", "a,b"),
    "percent signs": (b"X-API-Key: %s%d", "%s%d"),
}


@pytest.mark.parametrize("body", [b"", b"Content-Length: 0\r\n"], ids=["short way", "general way"])
@pytest.mark.parametrize(("field", "key"), KEYS.values(), ids=KEYS)
def test_the_key_is_read_alike_on_both_ways(
    client: RawClient, api: FakeApi, field: bytes, key: str | None, body: bytes
) -> None:
    answer = client.ask(QUERY.replace(b"X-API-Key: k", field)[:-2] + body + b"\r\n")

    assert 200 == answer.status
    assert [(key, "/v2/balance")] == api.queries


def test_head_has_the_headers_of_get_and_no_body(client: RawClient) -> None:
    got = client.ask(QUERY)

    client.send(QUERY.replace(b"GET", b"HEAD"))
    asked = client.receive(bodiless=True)

    assert got.head == asked.head
    assert BALANCE == client.ask(QUERY).body  # the next answer starts right here


def test_a_body_is_no_part_of_the_next_request(client: RawClient, api: FakeApi) -> None:
    client.send(QUERY[:-2] + b"Content-Length: 57\r\n\r\n" + QUERY + OTHER)

    assert [BALANCE, b"hello"] == [client.receive().body, client.receive().body]
    assert 1 == len(api.queries)


@pytest.mark.parametrize("count", [2, 50])
def test_pipelined_queries_are_all_answered_in_order(
    client: RawClient, api: FakeApi, count: int
) -> None:
    client.send(b"".join(QUERY.replace(b"k\r", b"%d\r" % n) for n in range(count)))

    assert [BALANCE] * count == [client.receive().body for _ in range(count)]
    assert [str(n) for n in range(count)] == [key for key, _ in api.queries]


def test_the_two_ways_follow_each_other_wherever_the_bytes_are_cut(listener: Listener) -> None:
    stream = QUERY + OTHER + QUERY + QUERY + OTHER
    with RawClient(listener) as client:
        for cut in range(len(stream)):
            client.send(stream[:cut])
            client.send(stream[cut:])
            bodies = [client.receive().body for _ in range(5)]
            assert [BALANCE, b"hello", BALANCE, BALANCE, b"hello"] == bodies, cut


def test_a_query_that_arrives_byte_by_byte_is_answered(client: RawClient, api: FakeApi) -> None:
    for byte in QUERY:
        client.send(bytes([byte]))

    assert BALANCE == client.receive().body
    assert [("k", "/v2/balance")] == api.queries


def test_a_client_that_has_finished_sending_still_gets_its_answers(client: RawClient) -> None:
    client.send(QUERY + OTHER + QUERY)
    client.socket.shutdown(1)

    assert [BALANCE, b"hello", BALANCE] == [client.receive().body for _ in range(3)]
    assert client.hung_up()


def test_http_client_keeps_one_connection(listener: Listener, api: FakeApi) -> None:
    client = http.client.HTTPConnection(listener.host, listener.port, timeout=SECONDS)
    client.connect()
    port = client.sock.getsockname()[1]
    for _ in range(3):
        client.request("GET", "/v2/balance", headers={"X-API-Key": "k"})
        assert BALANCE == client.getresponse().read()

    assert port == client.sock.getsockname()[1]
    assert 1 == len(listener.connections)
    assert 3 == len(api.queries)
    client.close()


def test_requests_keeps_one_connection_and_goes_the_short_way(
    listener: Listener, api: FakeApi
) -> None:
    with requests.Session() as session:
        for _ in range(3):
            answer = session.get(
                listener.url_for("/v2/balance"), headers={"X-API-Key": "k"}, timeout=SECONDS
            )
            assert json.loads(BALANCE) == answer.json()

        assert 1 == len(listener.connections)
    assert 3 == len(api.queries)
    assert [] == api.dispatched


def test_connection_close_is_obeyed(client: RawClient) -> None:
    answer = client.ask(QUERY[:-2] + b"Connection: Close\r\n\r\n")

    assert (200, "close") == (answer.status, answer.headers["connection"])
    assert client.hung_up()
