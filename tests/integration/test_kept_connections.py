"""One connection per endpoint is kept, and no event is posted twice because of it."""

import threading
import time
from contextlib import contextmanager, nullcontext
from http.client import RemoteDisconnected
from socket import SOCK_STREAM
from types import SimpleNamespace

import freezegun
import pytest

from pytest_chatfake.transport.client import http_client
from pytest_chatfake.transport.client.http_client import HttpClient
from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.targets import UrlTarget

from .raw_server import OK, SECONDS, Conversation, keeps_alive, keeps_responding, responds, serving
from .target_support import Interrupted

OKAY = Response(200, b"ok")


@contextmanager
def posting_to(script):
    """A server that follows a script, and a client of it."""
    with serving(script) as server:
        client = HttpClient(server.url, timeout=SECONDS)
        try:
            yield server, client
        finally:
            client.close()


def kept_to(server):
    return http_client._kept.get(("127.0.0.1", server.port, False))


def bodies(server):
    return [post.body for post in server.posts]


def numbered(count):
    return [b"%d" % number for number in range(count)]


CLOSES = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    "script",
    [
        responds(b"HTTP/1.1 200 OK\r\n\r\nok"),
        keeps_responding(CLOSES),
        keeps_responding(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n"),
    ],
)
def test_a_connection_that_is_for_no_more_requests_is_not_used_again(script):
    with posting_to(script) as (server, client):
        for body in numbered(10):
            assert client.post(body, {}).error is None

        assert numbered(10) == bodies(server)
        assert len(server.connections) == 10


def test_an_address_that_this_machine_does_not_know_is_skipped(monkeypatch):
    known = http_client.getaddrinfo
    unknown = (9_999, *known("127.0.0.1", 80, type=SOCK_STREAM)[0][1:])
    monkeypatch.setattr(
        http_client, "getaddrinfo", lambda *a, **k: [unknown, *known(*a, **k), unknown]
    )
    with posting_to(keeps_responding(OK)) as (_, client):
        assert client.post(b"", {}) == OKAY


@pytest.fixture
def watching(monkeypatch):
    """Watch a server for longer than a busy machine may take to close a connection."""
    monkeypatch.setattr(http_client, "WATCH_SECONDS", SECONDS)


@pytest.mark.parametrize("delay", [0, 0.001])
def test_a_server_that_closes_after_responses_gets_each_event_once(watching, delay):
    def closes(conversation):
        conversation.read()
        conversation.send(OK)
        time.sleep(delay)

    with posting_to(closes) as (server, client):
        assert [client.post(body, {}) for body in numbered(100)] == [OKAY] * 100

        assert numbered(100) == bodies(server)
        assert len(server.connections) == 100


@pytest.mark.parametrize("end", [Conversation.close, Conversation.reset])
def test_a_server_that_closes_while_nothing_happens_gets_each_event_once(end):
    idle_over = threading.Event()
    closed = threading.Semaphore(0)

    def closes_when_idle(conversation):
        for _ in range(3):
            if conversation.read() is None:
                return
            conversation.send(OK)
        idle_over.wait(SECONDS)
        end(conversation)
        closed.release()

    with posting_to(closes_when_idle) as (server, client):
        assert [client.post(body, {}) for body in numbered(3)] == [OKAY] * 3
        assert len(server.connections) == 1

        idle_over.set()
        assert closed.acquire(timeout=SECONDS)
        assert client.post(b"3", {}) == OKAY

        assert numbered(4) == bodies(server)
        assert len(server.connections) == 2


def test_a_server_that_takes_a_request_and_closes_is_not_asked_again():
    def takes_the_second(conversation):
        conversation.read()
        conversation.send(OK)
        conversation.read()

    with posting_to(takes_the_second) as (server, client):
        assert client.post(b"0", {}) == OKAY

        failed = client.post(b"1", {})
        assert failed[:2] == (None, b"")
        assert isinstance(failed.error, RemoteDisconnected)
        assert numbered(2) == bodies(server)

        assert client.post(b"2", {}) == OKAY
        assert numbered(3) == bodies(server)


@pytest.mark.parametrize("together", [False, True])
def test_a_response_to_nothing_is_not_taken_for_the_next_one(together):
    said = threading.Event()
    nothing = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"

    def babbles(conversation):
        while conversation.read():
            if said.is_set():
                conversation.send(OK)
            elif together:
                conversation.send(OK + nothing)
            else:
                conversation.send(OK)
                time.sleep(0.02)
                conversation.send(nothing)
            said.set()

    with posting_to(babbles) as (server, client):
        assert client.post(b"0", {}) == OKAY
        assert said.wait(SECONDS)
        assert [client.post(body, {}) for body in (b"1", b"2")] == [OKAY] * 2

        assert numbered(3) == bodies(server)


def test_an_aborted_attempt_leaves_nothing_that_the_next_one_could_meet():
    def responds_late(conversation):
        while post := conversation.read():
            if post.body == b"0":
                client.abort()
                conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
            else:
                conversation.send(OK)

    with posting_to(responds_late) as (server, client):
        assert isinstance(client.post(b"0", {}).error, TimeoutError)
        assert client.post(b"1", {}) == OKAY

        assert numbered(2) == bodies(server)


def test_an_attempt_that_is_aborted_while_it_connects_sends_nothing(monkeypatch):
    def connect(*address):
        sock = original(*address)
        client.abort()
        return sock

    original = http_client.connect

    with posting_to(keeps_alive) as (server, client):
        with monkeypatch.context() as patched:
            patched.setattr(http_client, "connect", connect)
            assert isinstance(client.post(b"0", {}).error, TimeoutError)
        assert client.post(b"1", {}) == OKAY

        assert bodies(server) == [b"1"]


def test_the_watchdog_ends_no_attempt_but_the_one_that_it_means():
    def script(conversation):
        while conversation.read():
            target.disconnect(first)
            conversation.send(OK)

    first, second = (SimpleNamespace(body=body, headers={}) for body in (b"0", b"1"))
    with serving(script) as server:
        target = UrlTarget(server.url, timeout=SECONDS)
        assert isinstance(target.attempt(first).error, TimeoutError)
        assert target.attempt(second) == OKAY
        target.close()


@pytest.mark.parametrize("frozen", [1, 2])
def test_a_connection_is_kept_where_freezegun_stops_the_monotonic_clock(frozen):
    with posting_to(keeps_alive) as (server, client):
        for number in range(4):
            with freezegun.freeze_time("2026-01-01") if number == frozen else nullcontext():
                assert client.post(b"%d" % number, {}) == OKAY

        assert numbered(4) == bodies(server)
        assert len(server.connections) == 1


def test_an_interrupted_attempt_leaves_no_connection(interrupt):
    def responds_to_the_second(conversation):
        while post := conversation.read():
            if post.body == b"0":
                interrupt()
            else:
                conversation.send(OK)

    with posting_to(responds_to_the_second) as (server, client):
        with pytest.raises(Interrupted):
            client.post(b"0", {})

        assert kept_to(server) is None
        assert client.post(b"1", {}) == OKAY
        assert numbered(2) == bodies(server)
