"""A plain answer is recognised by its head; it means the same as on the general way."""

from __future__ import annotations

import socket

import pytest

from pytest_chatfake.transport.client import connection as module
from pytest_chatfake.transport.client.connection import Connection, Deadline
from pytest_chatfake.transport.client.responses import Response

SECONDS = 60.0


def exchange(data):
    """Post, and be answered with these bytes and the end of the connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(SECONDS)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        return Connection(ours).exchange(b"", Deadline(SECONDS))


@pytest.fixture(params=["as it comes", "the general way"])
def _both_ways(request, monkeypatch):
    if request.param == "the general way":
        monkeypatch.setattr(module, "_read_plain_head", lambda head: None)


OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
OKAY = Response(200, b"ok")
CHUNKED = b"Transfer-Encoding: chunked\r\n"
IN_A_CHUNK = b"2\r\nok\r\n0\r\n\r\n"

KEPT_ALIVE = {
    "short": OK + TWO + b"\r\nok",
    "without a reason": b"HTTP/1.1 200\r\n" + TWO + b"\r\nok",
    "with an empty reason": b"HTTP/1.1 200 \r\n" + TWO + b"\r\nok",
    "with other headers": OK + b"Date: today\r\nX: \xe9\r\n" + TWO + b"\r\nok",
    "with spaces around the length": OK + b"content-LENGTH: \t 2 \r\n\r\nok",
    "with a header twice": OK + b"X: 1\r\nX: 2\r\n" + TWO + b"\r\nok",
    "with a folded header": OK + b"X: 1\r\n Content-Length: 9\r\n" + TWO + b"\r\nok",
    "keeping alive": OK + b"Connection: Keep-Alive\r\n" + TWO + b"\r\nok",
    "in chunks": OK + CHUNKED + b"\r\n" + IN_A_CHUNK,
    "in chunks in spite of its length": OK + CHUNKED + b"Content-Length: 12\r\n\r\n" + IN_A_CHUNK,
    "in chunks in spite of an impossible length": OK
    + CHUNKED
    + b"Content-Length: -5\r\n\r\n"
    + IN_A_CHUNK,
    "announced": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + TWO + b"\r\nok",
    "announced with a length": b"HTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n"
    + OK
    + TWO
    + b"\r\nok",
    "with bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
}

CLOSED = {
    "closing": OK + b"Connection: close\r\n" + TWO + b"\r\nok",
    "closing among others": OK + b"Connection: x, Close\r\n" + TWO + b"\r\nok",
    "to the end": OK + b"\r\nok",
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + TWO + b"\r\nok",
}

OTHERS = {
    "an error": (b"HTTP/1.1 500 Oh no\r\n" + TWO + b"\r\nno", Response(500, b"no")),
    "with an empty body": (OK + b"Content-Length: 0\r\n\r\n", Response(200)),
    "with a body of blank lines": (OK + TWO + b"\r\n\r\n", Response(200, b"\r\n")),
    "with a body like a head": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 13\n\nX: 1\r\n\r\nabcde",
        Response(200, b"X: 1\r\n\r\nabcde"),
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", Response(204)),
    "no content in spite of its length": (b"HTTP/1.1 204 x\r\n" + TWO + b"\r\n", Response(204)),
    "no content in spite of its body": (b"HTTP/1.1 204 x\r\n" + TWO + b"\r\nok", Response(204)),
    "not modified": (b"HTTP/1.1 304 x\r\n" + TWO + b"\r\n", Response(304)),
}


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("data", KEPT_ALIVE.values(), ids=KEPT_ALIVE)
def test_after_an_answer_the_connection_can_be_used_again(data):
    assert (OKAY, True) == exchange(data)


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("data", CLOSED.values(), ids=CLOSED)
def test_after_an_answer_that_ends_it_the_connection_can_not_be_used_again(data):
    assert (OKAY, False) == exchange(data)


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize(("data", "answer"), OTHERS.values(), ids=OTHERS)
def test_an_answer_has_its_status_and_its_body(data, answer):
    assert (answer, True) == exchange(data)


@pytest.mark.usefixtures("_both_ways")
def test_an_answer_that_switches_protocols_ends_http():
    data = b"HTTP/1.1 101 Switching\r\nContent-Length: 0\r\n\r\n"

    assert (Response(101), False) == exchange(data)


@pytest.mark.usefixtures("_both_ways")
def test_what_follows_an_answer_is_not_part_of_it():
    answer, _ = exchange(OK + TWO + b"\r\nok" + OK + TWO + b"\r\nno")

    assert OKAY == answer


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (OK + TWO + b"Server: x\r\n\r\nok", OKAY),
        (b"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", Response(204)),
    ],
)
def test_common_answers_need_no_http_client(monkeypatch, data, answer):
    monkeypatch.delattr(module, "_HttpResponse")

    assert (answer, True) == exchange(data)
