"""Responses over a socket: with a length, in chunks, cut off; errors and stubborn clients."""

# Asserts read `expected == actual`.

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
import requests
from werkzeug import Response

from pytest_chatfake.transport.server import connection
from pytest_chatfake.transport.server import listener as listener_module

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
    FakeApi,
    RawClient,
    eventually,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake.transport.server.listener import Listener

GET = b"GET /answer HTTP/1.1\r\n\r\n"
GET_1_0 = b"GET /answer HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
HEAD = b"HEAD /answer HTTP/1.1\r\n\r\n"


def test_a_response_has_its_length_and_its_headers(client: RawClient, api: FakeApi) -> None:
    api.answers["/answer"] = Response(
        ["hel", "lo"], "299 Very Fine", {"X-A": "é", "Set-Cookie": "a=1"}, content_type="text/x"
    )
    api.answers["/answer"].headers.add("Set-Cookie", "b=2")
    answer = client.ask(GET)

    assert (
        b"HTTP/1.1 299 Very Fine\r\nX-A: \xe9\r\nSet-Cookie: a=1\r\nContent-Type: text/x\r\n"
        b"Set-Cookie: b=2\r\nContent-Length: 5\r\n\r\n"
    ) == answer.head
    assert b"hello" == answer.body
    assert BALANCE == client.ask(QUERY).body


def test_a_big_response_arrives_whole(client: RawClient, api: FakeApi) -> None:
    body = bytes(range(256)) * 100_000
    api.answers["/answer"] = Response(body)

    assert body == client.ask(GET).body


def test_a_streamed_response_arrives_in_chunks_as_they_come(
    client: RawClient, api: FakeApi
) -> None:
    goes_on = threading.Event()

    def stream() -> Iterator[bytes]:
        yield b"first"
        yield b""  # an empty chunk would end the answer
        assert goes_on.wait(SECONDS)
        yield b"second" * 1000

    api.answers["/answer"] = Response(stream())
    client.send(GET)
    head = [client.reader.readline() for _ in range(4)]
    assert b"Transfer-Encoding: chunked\r\n" in head
    assert b"5\r\nfirst\r\n" == client.reader.read(10)  # before the second one is made
    goes_on.set()

    assert b"1770\r\n" + b"second" * 1000 + b"\r\n0\r\n\r\n" == client.reader.read(6015 - 2)
    assert BALANCE == client.ask(QUERY).body


def test_small_parts_do_not_wait_for_each_other(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = lambda _: Response(iter([b"one", b"two", b"three"]))
    assert b"onetwothree" == client.ask(GET).body
    (connection,) = listener.connections
    assert connection.request.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_streamed_response_with_a_length_needs_no_chunks(client: RawClient, api: FakeApi) -> None:
    api.answers["/answer"] = Response(iter([b"hel", b"lo"]), headers={"Content-Length": "5"})
    answer = client.ask(GET)

    assert "transfer-encoding" not in answer.headers
    assert b"hello" == answer.body
    assert BALANCE == client.ask(QUERY).body


def test_an_http_1_0_client_reads_a_stream_to_the_end_of_the_connection(
    client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = Response(iter([b"hel", b"lo"]))
    answer = client.ask(GET_1_0)

    assert "close" == answer.headers["connection"]
    assert "transfer-encoding" not in answer.headers
    assert b"hello" == answer.body


def test_an_http_1_0_connection_goes_on_after_a_response_with_a_length(
    client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = Response("hello")

    for _ in range(2):
        answer = client.ask(GET_1_0)
        assert (b"hello", "keep-alive") == (answer.body, answer.headers["connection"])


@pytest.mark.parametrize("body", ["hello", iter([b"hello"])], ids=["length", "stream"])
def test_head_gets_no_body(client: RawClient, api: FakeApi, body: str | Iterator[bytes]) -> None:
    api.answers["/answer"] = Response(body)
    client.send(HEAD)

    assert 200 == client.receive(bodiless=True).status
    assert BALANCE == client.ask(QUERY).body


@pytest.mark.parametrize("status", [204, 304])
def test_a_response_that_may_have_no_body_gets_none(
    client: RawClient, api: FakeApi, status: int
) -> None:
    api.answers["/answer"] = Response("ignored", status)
    client.send(GET)

    assert status == client.receive(bodiless=True).status
    assert BALANCE == client.ask(QUERY).body


def test_a_response_that_falls_short_of_its_length_ends_the_connection(
    client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = Response(["hel"], headers={"Content-Length": "5"})
    client.send(GET + QUERY)

    assert b"hel" == client.receive().body
    assert [] == api.queries


def test_a_response_that_exceeds_its_length_is_cut(client: RawClient, api: FakeApi) -> None:
    api.answers["/answer"] = Response(["hel", "lo wor", "ld"], headers={"Content-Length": "5"})

    assert b"hello" == client.ask(GET).body
    assert BALANCE == client.ask(QUERY).body


def test_a_response_may_ask_for_the_connection_to_be_closed(
    client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = Response("bye", headers={"Connection": "close"})
    answer = client.ask(GET)

    assert 1 == answer.head.count(b"Connection: close\r\n")
    assert b"bye" == answer.body
    assert client.hung_up()


class Parts:
    """A body that says whether it was closed."""

    def __init__(self, *parts: bytes | BaseException) -> None:
        self.parts = iter(parts)
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, BaseException):
                raise part
            yield part

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("request_", [GET, HEAD, GET_1_0], ids=["GET", "HEAD", "HTTP/1.0"])
def test_a_stream_is_closed_when_it_is_through(
    client: RawClient, api: FakeApi, request_: bytes
) -> None:
    parts = Parts(b"hello")
    api.answers["/answer"] = Response(parts)
    client.send(request_)
    client.receive(bodiless=request_ is HEAD)

    assert eventually(lambda: parts.closed > 0)


def test_a_stream_is_closed_when_its_client_leaves(listener: Listener, api: FakeApi) -> None:
    parts = Parts(*[b"x" * 100_000] * 1000)
    api.answers["/answer"] = Response(parts)
    with RawClient(listener) as client:
        client.send(GET)
        client.reader.read(1000)

    assert eventually(lambda: parts.closed > 0)
    assert eventually(lambda: 0 == len(listener.connections))
    listener.check()  # that a client leaves is no error


@pytest.mark.parametrize("error", [ZeroDivisionError("mid-stream"), OSError("mid-stream")])
def test_a_stream_that_fails_at_once_is_a_500(
    listener: Listener, client: RawClient, api: FakeApi, error: Exception
) -> None:
    parts = Parts(error)
    api.answers["/answer"] = Response(parts)
    answer = client.ask(GET)

    assert (500, "close") == (answer.status, answer.headers["connection"])
    assert client.hung_up()
    assert 1 == parts.closed
    with pytest.raises(type(error), match="mid-stream"):
        listener.check()


def test_a_stream_that_fails_midway_is_cut_off_and_can_not_pass_for_complete(
    listener: Listener, api: FakeApi
) -> None:
    api.answers["/answer"] = Response(Parts(b"half", ZeroDivisionError("mid-stream")))

    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        requests.get(listener.url_for("/answer"), timeout=SECONDS)
    with pytest.raises(ZeroDivisionError, match="mid-stream"):
        listener.check()


def test_a_header_that_http_can_not_carry_is_a_500(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    api.answers["/answer"] = Response("hello", headers={"X-A": "ключ"})

    assert 500 == client.ask(GET).status
    with pytest.raises(UnicodeEncodeError):
        listener.check()


def test_a_client_that_never_reads_does_not_hold_up_a_stop(
    listener: Listener, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "JOIN_SECONDS", SECONDS)
    api.answers["/answer"] = Response(b"x" * 50_000_000)
    with RawClient(listener) as client:
        client.send(GET)
        assert eventually(lambda: [("/answer", 200)] == api.statuses)
        begin = time.monotonic()
        listener.stop()

        assert SECONDS / 2 > time.monotonic() - begin


def test_an_error_after_the_answer_comes_back_as_well(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("on close")

    response = Response("hello")
    response.call_on_close(broken)
    api.answers["/answer"] = response

    assert b"hello" == client.ask(GET).body
    assert client.hung_up()
    with pytest.raises(ZeroDivisionError, match="on close"):
        listener.check()


def test_a_refused_client_that_goes_on_sending_is_not_listened_to_for_ever(
    listener: Listener, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_READS", 3)
    client.send(b"garbage\r\n")
    assert 400 == client.receive().status

    with pytest.raises(ConnectionError):
        for _ in range(1000):
            client.send(b"more" * 1000)
            time.sleep(0.001)
    assert eventually(lambda: 0 == len(listener.connections))


def test_a_refused_client_that_never_hangs_up_is_waited_for_in_vain(
    listener: Listener, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.01)
    client.send(b"garbage\r\n")
    assert 400 == client.receive().status

    assert eventually(lambda: 0 == len(listener.connections))
