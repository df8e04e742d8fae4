"""The listener: its life, its threads, its sockets and its clients."""

import gc
import os
import socket
import sys
import threading

import pytest
import requests
from pytest_httpserver import HTTPServerError
from werkzeug import Response
from werkzeug.serving import WSGIRequestHandler

from pytest_chatfake.transport.server.listener import Listener
from pytest_chatfake.transport.server.replies import Reply

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
    FakeApi,
    RawClient,
    eventually,
    listening,
)

GET = b"GET /handled HTTP/1.1\r\n\r\n"


@pytest.fixture
def held(api):
    """Set when a handler has begun, and to be set so that it goes on."""
    inside, leave = threading.Event(), threading.Event()

    def handler(_):
        inside.set()
        leave.wait(SECONDS)
        return Reply(200, b"done")

    api.responses["/handled"] = handler
    return inside, leave


# Its life


def test_a_listener_starts_once_and_stops_once(listener):
    with pytest.raises(HTTPServerError, match="is already running"):
        listener.start()
    listener.stop()
    listener.close_idle_connections()

    assert not listener.is_running()
    with pytest.raises(HTTPServerError, match="is not running"):
        listener.stop()


def test_a_stopped_listener_starts_again_at_the_same_address(listener):
    url = listener.url_for("/v2/balance")
    assert requests.get(url, timeout=SECONDS).content == BALANCE
    listener.stop()
    listener.start()

    assert requests.get(url, timeout=SECONDS).content == BALANCE


def test_a_port_that_is_taken_is_an_error_and_no_exit(listener):
    second = Listener(FakeApi())
    second.port = listener.port

    with pytest.raises(OSError, match="in use"):
        second.start()
    assert not second.is_running()


@pytest.mark.parametrize("half", [b"", QUERY, QUERY + QUERY[:10], QUERY[:10]])
def test_a_stop_hangs_up_on_a_waiting_client_without_a_response(listener, api, half):
    with RawClient(listener) as client:
        client.send(half)
        if QUERY in half:
            client.receive()
        assert eventually(lambda: len(listener.connections) == 1)
        listener.stop()

        assert client.hung_up()
        with pytest.raises(OSError):  # refused or reset
            RawClient(listener)
        assert half.count(QUERY) == len(api.requests)


def open_files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts in /proc")
def test_no_thread_and_no_socket_is_left_after_a_stop(api):
    api.responses["/handled"] = Response(b"x" * 10_000_000)
    threads, files = set(threading.enumerate()), open_files()
    with listening(api) as listener:
        clients = [RawClient(listener) for _ in range(20)]
        assert eventually(lambda: len(clients) == len(listener.connections))
        for number, client in enumerate(clients):
            client.send([b"", QUERY, QUERY[:10], GET, b"garbage\r\n"][number % 5])
        assert eventually(lambda: len(api.requests) == 8)
        listener.stop()

        # A library's own idle one may end.
        assert eventually(lambda: set(threading.enumerate()) <= threads)
        for client in clients:
            client.__exit__()
    assert open_files() <= files


def test_a_client_that_is_accepted_while_the_listener_stops_is_hung_up_on(listener, monkeypatch):
    accepted, stopped = threading.Event(), threading.Event()
    process_request_thread = listener.server.process_request_thread

    def late(*arguments):
        accepted.set()
        stopped.wait(SECONDS)
        process_request_thread(*arguments)

    monkeypatch.setattr(listener.server, "process_request_thread", late)
    with RawClient(listener) as client:
        client.send(QUERY)
        assert accepted.wait(SECONDS)
        listener.stop()
        stopped.set()

        assert client.hung_up()


def test_the_handler_class_that_the_process_shares_stays_untouched(monkeypatch):
    if "protocol_version" in vars(WSGIRequestHandler):  # another server of the process was here
        monkeypatch.delattr(WSGIRequestHandler, "protocol_version")
    before = dict(vars(WSGIRequestHandler))
    with listening() as listener, RawClient(listener) as client:
        client.ask(QUERY)

    assert before == dict(vars(WSGIRequestHandler))


# Its clients


def test_the_default_timeout_of_the_test_is_not_that_of_an_idle_client(listener):
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS)
    try:
        with RawClient(listener) as client:
            client.ask(QUERY)
            (connection,) = listener.connections
            assert connection.request.gettimeout() is None
    finally:
        socket.setdefaulttimeout(before)


def test_idle_connections_can_be_closed(listener):
    with RawClient(listener) as silent, RawClient(listener) as idle:
        idle.ask(QUERY)
        assert eventually(lambda: len(listener.connections) == 2)
        listener.close_idle_connections()

        assert [silent.hung_up(), idle.hung_up()] == [True, True]
        assert eventually(lambda: len(listener.connections) == 0)
    with RawClient(listener) as late:
        assert late.ask(QUERY).body == BALANCE


def test_a_busy_connection_is_closed_after_its_response(listener, held):
    inside, leave = held
    with RawClient(listener) as client:
        client.send(GET)
        assert inside.wait(SECONDS)
        listener.close_idle_connections()
        leave.set()

        assert client.receive().body == b"done"
        assert client.hung_up()
