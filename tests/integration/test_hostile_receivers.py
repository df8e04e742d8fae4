"""Receivers that respond with no HTTP, or with too much, or too slowly."""

import socket
import sys
from http.client import HTTPException, RemoteDisconnected

import pytest
import time_machine

from pytest_chatfake import ChatFake

from ..unit.both_frameworks import perform
from ..unit.hanging import connected_in_any_time, counted_while_hanging, hanging
from .raw_server import CHUNKED, LENGTH, OK, SOON, dribbles, post_to, response_to, serving

__all__ = ["connected_in_any_time", "counted_while_hanging"]

MODES = pytest.mark.parametrize("mode", ["sync", "async"])
BAD_CHUNKS = "the response's chunks are malformed or cut off"


def expect_a_timeout(port, body=b"{}"):
    response = post_to(f"http://127.0.0.1:{port}/", body, timeout=SOON)

    assert isinstance(response.error, TimeoutError)
    assert str(response.error) == "no complete response within 0.2 s"


# Malformed


NO_RESPONSES = [
    (b"hello", "no HTTP response: it started with 'hello'"),
    (b"\r\n\r\n" + OK, r"no HTTP response: it started with '\r\n'"),
    (b"\x16\x03\x01", r"no HTTP response: it started with '\x16\x03\x01'"),
    (b"x" * 1000, f"no HTTP response: it started with '{'x' * 80}'"),
    (b"HTTP/1.1 20 OK\r\n\r\n", "no HTTP response: it started with 'HTTP/1.1 20 OK'"),
    (b"HTTP/1.1 100 x\r\n\r\nhello", "no HTTP response: it started with 'hello'"),
    (b"HTTP/3 200 OK\r\n\r\n", "no HTTP response: it started with 'HTTP/3'"),
    (b"HTTP/1.1 200 " + b"x" * 100_000, "got more than 65536 bytes when reading status line"),
    (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 1000, "got more than 100 headers"),
    (LENGTH % b"10" + b"half", "the response is cut off: 4 of 10 bytes of its body arrived"),
    (LENGTH % (b"9" * 18), f"the response is cut off: 0 of {'9' * 18} bytes of its body arrived"),
    (CHUNKED + b"3\r\none\r\n5\r\ntw", BAD_CHUNKS),
    (CHUNKED + b"3\r\none\r\n", BAD_CHUNKS),
    (CHUNKED + b"3\r\nfour\r\n0\r\n\r\n", BAD_CHUNKS),
    (CHUNKED + b"zz\r\n", BAD_CHUNKS),
    (CHUNKED + b"-1\r\nx", BAD_CHUNKS),
]


@pytest.mark.parametrize(("data", "text"), NO_RESPONSES)
def test_a_malformed_or_cut_off_response_is_a_failed_attempt(data, text):
    response = response_to(data)

    assert response[:2] == (None, b"")
    assert isinstance(response.error, HTTPException)
    assert text == str(response.error)


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_connection_that_ends_without_a_response_fails_the_attempt(data):
    assert isinstance(response_to(data).error, RemoteDisconnected)


# Endless


def sends_for_ever(begin, part):
    def script(conversation):
        conversation.read()
        conversation.send(begin)
        while True:
            conversation.send(part)

    return script


@pytest.mark.parametrize("part", [b"X: 1\r\n" * 1000, b"x" * 65_536], ids=["lines", "line"])
def test_endless_headers_are_given_up_at_once(part):
    with serving(sends_for_ever(b"HTTP/1.1 200 OK\r\nX: ", part)) as server:
        assert str(post_to(server.url).error).startswith("got more than ")


# Time


def says_nothing(conversation):
    conversation.read()
    conversation.read()


@pytest.mark.parametrize(
    "script",
    [
        says_nothing,
        dribbles(b"HTTP/1.1 200 OK\r\nX-Endless: " + b"x" * 1000),
        dribbles(b"HTTP/1.1 100 Continue\r\n\r\n"),
        dribbles(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1000),
        dribbles(CHUNKED + b"1\r\nx\r\n" * 500),
    ],
    ids=["silent", "head", "announcements", "body", "chunks"],
)
def test_the_timeout_is_for_the_whole_response_however_it_dribbles(script):
    with serving(script) as server:
        expect_a_timeout(server.port)


def test_a_server_that_stops_reading_does_not_hold_a_big_body_for_ever():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        expect_a_timeout(listener.getsockname()[1], b"x" * 20_000_000)


@MODES
@pytest.mark.usefixtures("connected_in_any_time")
def test_a_fake_ends_an_attempt_that_dribbles_and_makes_the_next_one(mode):
    def script(conversation):
        conversation.read()
        if len(server.posts) == 1:
            with hanging():
                dribbles(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1000)(conversation)
        conversation.send(OK)

    with serving(script) as server, ChatFake(mode=mode, timeout=SOON) as fake:
        fake.webhooks.connect(server.url)
        perform(mode, fake.send_text)
        perform(mode, fake.send_text)
        late, in_time = fake.webhooks.attempts

    assert [late.outcome, in_time.outcome] == [
        "TimeoutError: no complete response within 0.2 s",
        "status 200",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse instead of waiting")
def test_a_server_that_never_takes_a_connection_does_not_hold_it_for_ever():
    waiting = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        for _ in range(3):  # as many as the system keeps waiting, and one more
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(("127.0.0.1", port))
        expect_a_timeout(port)
    for sock in waiting:
        sock.close()


def test_the_timeout_is_real_time_while_the_test_s_time_stands_still():
    with serving(says_nothing) as server, time_machine.travel(0, tick=False):
        expect_a_timeout(server.port)
