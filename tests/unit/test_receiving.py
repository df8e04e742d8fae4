"""A response is read to its end, and says whether its connection can be used again."""

import socket

import pytest

from pytest_chatfake.transport.client.receiving import receive
from pytest_chatfake.transport.client.responses import Response


def received(data):
    """Post, and get these bytes and the end of the connection as the response."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        return receive(ours)


OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
IN_A_CHUNK = b"2\r\nok\r\n0\r\n\r\n"

KEPT_ALIVE = {
    "with a length": OK + TWO + b"\r\nok",
    "with spaces around the length": OK + b"content-LENGTH: \t 2 \r\n\r\nok",
    "keeping alive": OK + b"Connection: Keep-Alive\r\n" + TWO + b"\r\nok",
    "in chunks": OK + CHUNKED + b"\r\n" + IN_A_CHUNK,
    "in chunks in spite of an impossible length": OK
    + CHUNKED
    + b"Content-Length: -5\r\n\r\n"
    + IN_A_CHUNK,
    "announced": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + TWO + b"\r\nok",
    "before another one": OK + TWO + b"\r\nok" + OK + TWO + b"\r\nno",
}

CLOSED = {
    "closing": OK + b"Connection: x, Close\r\n" + TWO + b"\r\nok",
    "to the end": OK + b"\r\nok",
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + TWO + b"\r\nok",
}

OTHERS = {
    "an error": (b"HTTP/1.1 500 Oh no\r\n" + TWO + b"\r\nno", Response(500, b"no")),
    "with an empty body": (OK + b"Content-Length: 0\r\n\r\n", Response(200)),
    "without a reason": (b"HTTP/1.1 200\r\n" + TWO + b"\r\nok", Response(200, b"ok")),
    "in chunks with an extension and a trailer": (
        OK + CHUNKED + b"\r\n3;ext=1\r\none\r\n1\r\n!\r\n0\r\nX-Trailer: 1\r\n\r\n",
        Response(200, b"one!"),
    ),
    "no content in spite of its length": (b"HTTP/1.1 204 x\r\n" + TWO + b"\r\n", Response(204)),
}


@pytest.mark.parametrize("data", KEPT_ALIVE.values(), ids=KEPT_ALIVE)
def test_after_a_response_the_connection_can_be_used_again(data):
    assert (Response(200, b"ok"), True) == received(data)


@pytest.mark.parametrize("data", CLOSED.values(), ids=CLOSED)
def test_after_a_response_that_ends_it_a_connection_can_not_be_used_again(data):
    assert (Response(200, b"ok"), False) == received(data)


@pytest.mark.parametrize(("data", "response"), OTHERS.values(), ids=OTHERS)
def test_a_response_has_its_status_and_its_body(data, response):
    assert (response, True) == received(data)


@pytest.mark.parametrize("status", [101, 103])
def test_a_response_that_is_not_the_last_one_ends_http(status):
    data = b"HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n" % status

    assert (Response(status), False) == received(data)
