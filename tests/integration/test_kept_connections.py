"""One connection per endpoint is kept, and no event is posted twice because of it."""

from __future__ import annotations

import select
import signal
import threading
import time
from http.client import RemoteDisconnected

import pytest

from pytest_chatfake.transport.client import http_client
from pytest_chatfake.transport.client.http_client import HttpClient
from pytest_chatfake.transport.client.responses import Response

from .raw_server import OK, SECONDS, serving

OKAY = Response(200, b"ok")


@pytest.fixture
def client_of():
    clients = []

    def make(server, timeout=SECONDS):
        clients.append(HttpClient(server.url, timeout=timeout))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def kept_to(server):
    return http_client._kept.get(("127.0.0.1", server.port, False))


def bodies(server):
    return [post.body for post in server.posts]


def numbered(count):
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nok",
    ],
)
def test_a_server_that_says_that_it_closes_gets_a_new_connection_each_time(client_of, answer):
    def closes(conversation):
        conversation.read()
        conversation.send(answer)

    with serving(closes) as server:
        client = client_of(server)
        assert [OKAY] * 20 == [client.post(body, {}) for body in numbered(20)]

        assert numbered(20) == bodies(server)
        assert 20 == len(server.connections)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n",
    ],
)
def test_a_connection_that_is_no_more_for_requests_is_not_used_again_though_it_is_open(
    client_of, answer
):
    def lingers(conversation):
        while conversation.read():
            conversation.send(answer)

    with serving(lingers) as server:
        client = client_of(server)
        for body in numbered(3):
            client.post(body, {})

        assert numbered(3) == bodies(server)
        assert 3 == len(server.connections)


@pytest.fixture
def watching(monkeypatch):
    """Watch a server for longer than a busy machine may take to close a connection."""
    monkeypatch.setattr(http_client, "WATCH_SECONDS", SECONDS)


@pytest.mark.parametrize("delay", [0, 0.001])
def test_a_server_that_closes_after_every_answer_without_saying_so_gets_each_event_once(
    client_of, watching, delay
):
    def closes(conversation):
        conversation.read()
        conversation.send(OK)
        time.sleep(delay)

    with serving(closes) as server:
        client = client_of(server)
        assert [OKAY] * 100 == [client.post(body, {}) for body in numbered(100)]

        assert numbered(100) == bodies(server)
        assert 100 == len(server.connections)


@pytest.fixture(params=["poll", "select"])
def _both_ways_to_listen(request, monkeypatch):
    if request.param == "select":
        monkeypatch.delattr(select, "poll")


@pytest.mark.usefixtures("_both_ways_to_listen")
def test_a_server_that_closes_while_nothing_happens_gets_each_event_once(client_of):
    idle_over = threading.Event()
    closed = threading.Semaphore(0)

    def closes_when_idle(conversation):
        for _ in range(3):
            if conversation.read() is None:
                return
            conversation.send(OK)
        idle_over.wait(SECONDS)
        conversation.close()
        closed.release()

    with serving(closes_when_idle) as server:
        client = client_of(server)
        assert [OKAY] * 3 == [client.post(body, {}) for body in numbered(3)]
        assert 1 == len(server.connections)

        idle_over.set()
        assert closed.acquire(timeout=SECONDS)
        assert OKAY == client.post(b"3", {})

        assert numbered(4) == bodies(server)
        assert 2 == len(server.connections)


def test_a_server_that_takes_a_request_on_a_kept_connection_and_closes_is_not_asked_again(
    client_of,
):
    def takes_the_second(conversation):
        conversation.read()
        conversation.send(OK)
        conversation.read()

    with serving(takes_the_second) as server:
        client = client_of(server)
        assert OKAY == client.post(b"0", {})

        failed = client.post(b"1", {})
        assert (None, b"") == failed[:2]
        assert isinstance(failed.error, RemoteDisconnected)
        assert numbered(2) == bodies(server)

        assert OKAY == client.post(b"2", {})
        assert numbered(3) == bodies(server)


def test_a_kept_connection_that_was_reset_while_idle_is_replaced(client_of):
    was_reset = threading.Event()

    def resets(conversation):
        while conversation.read():
            conversation.send(OK)
            if len(server.posts) == 1:
                time.sleep(0.02)
                conversation.reset()
                was_reset.set()
                return

    with serving(resets) as server:
        client = client_of(server)
        assert OKAY == client.post(b"0", {})
        assert was_reset.wait(SECONDS)
        assert OKAY == client.post(b"1", {})

        assert numbered(2) == bodies(server)


@pytest.mark.parametrize("together", [False, True])
def test_an_answer_to_nothing_is_not_taken_for_the_next_one(client_of, together):
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

    with serving(babbles) as server:
        client = client_of(server)
        assert OKAY == client.post(b"0", {})
        assert said.wait(SECONDS)
        assert [OKAY] * 2 == [client.post(body, {}) for body in (b"1", b"2")]

        assert numbered(3) == bodies(server)


def test_a_failed_attempt_leaves_nothing_that_the_next_one_could_meet(client_of):
    given_up, answered = threading.Event(), threading.Event()

    def answers_late(conversation):
        while post := conversation.read():
            if post.body == b"0":
                assert given_up.wait(SECONDS)
                conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
                answered.set()
            else:
                conversation.send(OK)

    with serving(answers_late) as server:
        assert isinstance(client_of(server, timeout=0.1).post(b"0", {}).error, TimeoutError)
        given_up.set()
        assert answered.wait(SECONDS)
        assert OKAY == client_of(server).post(b"1", {})

        assert numbered(2) == bodies(server)


class Interrupted(BaseException):
    """Comes from outside, as Ctrl+C does."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_an_interrupted_attempt_leaves_no_connection(client_of):
    def answers_the_second(conversation):
        while post := conversation.read():
            if post.body == b"0":
                signal.setitimer(signal.ITIMER_REAL, 0.05)
            else:
                conversation.send(OK)

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with serving(answers_the_second) as server:
            client = client_of(server)
            with pytest.raises(Interrupted):
                client.post(b"0", {})

            assert None is kept_to(server)
            assert OKAY == client.post(b"1", {})
            assert numbered(2) == bodies(server)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
