"""The listener: its life, its threads and sockets, and pytest-httpserver's handlers on it."""

# Asserts read `expected == actual`.
# ruff: noqa: SIM300

from __future__ import annotations

import gc
import http.client
import json
import os
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
import requests
import time_machine
from pytest_httpserver import HTTPServerError
from werkzeug import Request, Response
from werkzeug.exceptions import ImATeapot
from werkzeug.serving import WSGIRequestHandler
from werkzeug.test import Client

from pytest_chatfake.server import listener as module
from pytest_chatfake.server.listener import Listener
from pytest_chatfake.server.replies import Reply

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
    FakeApi,
    RawClient,
    eventually,
    listening,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

GET = b"GET /handled HTTP/1.1\r\n\r\n"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def listener(api: FakeApi) -> Iterator[Listener]:
    with listening(api) as listener:
        yield listener


@pytest.fixture
def client(listener: Listener) -> Iterator[RawClient]:
    with RawClient(listener) as client:
        yield client


# Its life


def test_it_listens_on_a_free_port_of_the_loopback_address(listener: Listener) -> None:
    assert "127.0.0.1" == listener.host
    assert f"http://127.0.0.1:{listener.port}/v2/balance" == listener.url_for("/v2/balance")
    assert BALANCE == requests.get(listener.url_for("/v2/balance"), timeout=SECONDS).content


def test_two_listeners_keep_apart(listener: Listener) -> None:
    other = FakeApi()
    other.reply = Reply(200, b"other")
    with listening(other) as second, RawClient(listener) as client, RawClient(second) as stranger:
        assert [BALANCE, b"other"] == [client.ask(QUERY).body, stranger.ask(QUERY).body]


def test_it_starts_once(listener: Listener) -> None:
    with pytest.raises(HTTPServerError, match="runs already"):
        listener.start()


def test_it_stops_once(listener: Listener) -> None:
    listener.stop()

    assert not listener.is_running()
    with pytest.raises(HTTPServerError, match="does not run"):
        listener.stop()


def test_it_starts_again_at_the_same_address(listener: Listener) -> None:
    url = listener.url_for("/v2/balance")
    assert BALANCE == requests.get(url, timeout=SECONDS).content
    listener.stop()
    listener.start()

    assert BALANCE == requests.get(url, timeout=SECONDS).content


def test_a_port_that_is_taken_is_an_error_and_no_exit(listener: Listener) -> None:
    second = Listener(FakeApi())
    second.port = listener.port

    with pytest.raises(OSError, match="in use"):
        second.start()
    assert not second.is_running()


def test_it_is_a_context_manager() -> None:
    with Listener(FakeApi()) as listener:
        assert listener.is_running()
    assert not listener.is_running()


def test_a_stop_takes_milliseconds(listener: Listener) -> None:
    with RawClient(listener) as idle, RawClient(listener) as half:
        idle.ask(QUERY)
        half.send(QUERY[:10])
        begin = time.monotonic()
        listener.stop()

        assert 0.2 > time.monotonic() - begin  # polling, it would be half a second


def test_a_stop_waits_for_a_handler_but_not_for_ever(
    listener: Listener, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "JOIN_SECONDS", 0.05)
    inside, leave = threading.Event(), threading.Event()

    def handler(_: Request) -> Reply:
        inside.set()
        leave.wait(SECONDS)
        return Reply(200, b"too late")

    api.answers["/handled"] = handler
    with RawClient(listener) as client:
        client.send(GET)
        assert inside.wait(SECONDS)
        begin = time.monotonic()
        listener.stop()
        assert 0.05 <= time.monotonic() - begin < 1
        leave.set()
        assert client.hung_up()


@pytest.mark.parametrize("half", [b"", QUERY, QUERY + QUERY[:10], QUERY[:10]])
def test_after_a_stop_a_waiting_client_is_hung_up_on_and_never_answered(
    listener: Listener, api: FakeApi, half: bytes
) -> None:
    with RawClient(listener) as client:
        client.send(half)
        if QUERY in half:
            client.receive()
        assert eventually(lambda: 1 == listener.open_connections)
        listener.stop()
        queries = len(api.queries)

        assert client.hung_up()
        with pytest.raises(OSError):  # refused or reset
            RawClient(listener)
        assert queries == len(api.queries)


def test_a_request_after_a_stop_never_gets_200(listener: Listener) -> None:
    client = http.client.HTTPConnection(listener.host, listener.port, timeout=SECONDS)
    client.request("GET", "/v2/balance")
    assert BALANCE == client.getresponse().read()
    listener.stop()

    with pytest.raises(OSError):
        client.request("GET", "/v2/balance")
        client.getresponse()
    client.close()


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts in /proc")
def test_no_thread_and_no_socket_is_left_after_a_stop(api: FakeApi) -> None:
    api.answers["/handled"] = Response(b"x" * 10_000_000)
    threads, files = set(threading.enumerate()), open_files()
    with listening(api) as listener:
        clients = [RawClient(listener) for _ in range(20)]
        for number, client in enumerate(clients):
            client.send([b"", QUERY, QUERY[:10], GET, b"garbage\r\n"][number % 5])
        assert eventually(lambda: len(clients) == listener.open_connections)
        assert eventually(lambda: 4 == len(api.queries))
        listener.stop()

        assert threads == set(threading.enumerate())
        for client in clients:
            client.__exit__()
    assert files == open_files()


def test_a_client_that_leaves_takes_its_thread_with_it(listener: Listener) -> None:
    threads = threading.active_count()
    for _ in range(50):
        with RawClient(listener) as client:
            client.ask(QUERY)

    assert eventually(lambda: 0 == listener.open_connections)
    assert eventually(lambda: threads == threading.active_count())


def test_the_handler_class_that_the_process_shares_stays_untouched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "protocol_version" in vars(WSGIRequestHandler):  # another server of the process was here
        monkeypatch.delattr(WSGIRequestHandler, "protocol_version")
    before = dict(vars(WSGIRequestHandler))
    with listening() as listener, RawClient(listener) as client:
        client.ask(QUERY)

    assert before == dict(vars(WSGIRequestHandler))


# Its clients


def test_100_idle_clients_block_nobody(listener: Listener) -> None:
    idle = [RawClient(listener) for _ in range(100)]
    for client in idle[::2]:
        client.ask(QUERY)
    begin = time.monotonic()
    with RawClient(listener) as busy:
        for _ in range(20):
            assert BALANCE == busy.ask(QUERY).body

    assert 1 > time.monotonic() - begin
    assert [BALANCE] * 100 == [client.ask(QUERY).body for client in idle]
    for client in idle:
        client.__exit__()


def test_handlers_run_side_by_side(listener: Listener, api: FakeApi) -> None:
    together = threading.Barrier(4)

    def handler(_: Request) -> Reply:
        together.wait(SECONDS)  # passes only if four are in here at once
        return Reply(200, b"done")

    api.answers["/handled"] = handler
    clients = [RawClient(listener) for _ in range(4)]
    for client in clients:
        client.send(GET)

    assert [b"done"] * 4 == [client.receive().body for client in clients]
    for client in clients:
        client.__exit__()


def test_a_handler_may_ask_for_the_balance_itself(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    def handler(_: Request) -> Reply:
        return Reply(200, requests.get(listener.url_for("/v2/balance"), timeout=SECONDS).content)

    api.answers["/handled"] = handler

    assert BALANCE == client.ask(GET).body


def test_it_serves_while_process_time_stands_still() -> None:
    with time_machine.travel("2026-01-01T12:00:00Z", tick=False), listening() as listener:
        with RawClient(listener) as client:
            client.send(QUERY + GET + b"garbage\r\n")
            assert [200, 404, 400] == [client.receive().status for _ in range(3)]
            assert client.hung_up()
        begin = time.monotonic()
        listener.stop()
        assert 0.2 > time.monotonic() - begin


def test_the_default_timeout_of_the_test_is_not_that_of_an_idle_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.05)
    try:
        with listening() as listener, RawClient(listener) as client:
            client.ask(QUERY)
            time.sleep(0.15)
            assert BALANCE == client.ask(QUERY).body
    finally:
        socket.setdefaulttimeout(before)


def test_idle_connections_can_be_closed(listener: Listener) -> None:
    with RawClient(listener) as silent, RawClient(listener) as idle:
        idle.ask(QUERY)
        assert eventually(lambda: 2 == listener.open_connections)
        listener.close_idle_connections()

        assert [True, True] == [silent.hung_up(), idle.hung_up()]
        assert eventually(lambda: 0 == listener.open_connections)
    with RawClient(listener) as late:
        assert BALANCE == late.ask(QUERY).body


def test_a_busy_connection_is_closed_after_its_answer(listener: Listener, api: FakeApi) -> None:
    inside, leave = threading.Event(), threading.Event()

    def handler(_: Request) -> Reply:
        inside.set()
        leave.wait(SECONDS)
        return Reply(200, b"done")

    api.answers["/handled"] = handler
    with RawClient(listener) as client:
        client.send(GET)
        assert inside.wait(SECONDS)
        listener.close_idle_connections()
        leave.set()

        assert b"done" == client.receive().body
        assert client.hung_up()


def test_closing_idle_connections_of_a_stopped_listener_is_nothing(listener: Listener) -> None:
    listener.stop()
    listener.close_idle_connections()

    assert 0 == listener.open_connections


# What a test adds to it


def test_a_handler_answers_what_the_api_leaves_to_it(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    listener.expect_request("/handled", method="POST", json={"a": 1}).respond_with_json({"b": 2})
    answer = client.ask(b"POST /handled HTTP/1.1\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}')

    assert (200, {"b": 2}) == (answer.status, json.loads(answer.body))
    assert BALANCE == client.ask(QUERY).body


def test_the_api_comes_first(listener: Listener, client: RawClient, api: FakeApi) -> None:
    listener.expect_request("/handled").respond_with_data("by the handler")
    listener.expect_request("/v2/balance").respond_with_data("by the handler")
    api.answers["/handled"] = Reply(200, b"by the API")

    assert [b"by the API", BALANCE] == [client.ask(GET).body, client.ask(QUERY).body]


def test_an_unmatched_request_is_answered_by_the_api_and_no_failed_assertion(
    listener: Listener, client: RawClient
) -> None:
    listener.expect_request("/other").respond_with_data("x")
    listener.expect_oneshot_request("/another").respond_with_data("x")
    answer = client.ask(GET)

    assert (404, "NOT_FOUND") == (answer.status, json.loads(answer.body)["error"]["code"])
    assert [] == listener.log
    listener.check()


def test_a_oneshot_handler_answers_once(listener: Listener, client: RawClient) -> None:
    listener.expect_oneshot_request("/handled").respond_with_data("once")

    assert [200, 404] == [client.ask(GET).status, client.ask(GET).status]
    listener.check()


def test_ordered_handlers_keep_their_order(listener: Listener, client: RawClient) -> None:
    listener.expect_ordered_request("/handled").respond_with_data("first")
    listener.expect_ordered_request("/handled").respond_with_data("second")

    assert [b"first", BALANCE, b"second"] == [client.ask(it).body for it in (GET, QUERY, GET)]
    listener.check()


def test_another_request_than_the_ordered_one_is_a_failed_assertion(
    listener: Listener, client: RawClient
) -> None:
    listener.expect_ordered_request("/first").respond_with_data("first")
    answer = client.ask(GET)

    assert 500 == answer.status
    with pytest.raises(AssertionError, match="No handler found"):
        listener.check()
    listener.clear()
    assert 404 == client.ask(GET).status
    listener.check()


def test_the_log_holds_only_what_reached_a_handler(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    listener.expect_request("/handled").respond_with_data("x")
    api.answers["/routed"] = Reply(200, b"")
    for request in (QUERY, GET, GET.replace(b"handled", b"routed"), GET.replace(b"h", b"x")):
        client.ask(request)

    assert [("/handled", 200)] == [(asked.path, said.status_code) for asked, said in listener.log]
    listener.assert_request_made(listener.create_matcher("/handled"))


def test_the_log_still_knows_the_body(listener: Listener, client: RawClient) -> None:
    def reads_without_caching(request: Request) -> Response:
        return Response(request.get_data(cache=False))

    listener.expect_request("/handled").respond_with_handler(reads_without_caching)
    client.ask(b"POST /handled HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")

    assert b"hi" == listener.log[0][0].get_data()


def test_waiting_for_handlers_works(listener: Listener, client: RawClient) -> None:
    listener.expect_oneshot_request("/handled").respond_with_data("x")
    with listener.wait(timeout=SECONDS) as waiting:
        client.ask(GET.replace(b"handled", b"unmatched"))
        client.ask(GET)

    assert waiting.result


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("by zero"), AssertionError("by zero"), pytest.fail.Exception("by zero")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("by", ["a handler", "the API"])
def test_an_error_is_a_500_and_comes_back_once(
    listener: Listener, client: RawClient, api: FakeApi, error: BaseException, by: str
) -> None:
    def broken(_: Request) -> Response:
        raise error

    if by == "the API":
        api.answers["/handled"] = broken
    else:
        listener.expect_request("/handled").respond_with_handler(broken)
    assert 500 == client.ask(GET).status

    with pytest.raises(type(error), match="by zero"):
        listener.check()
    listener.check()
    assert BALANCE == client.ask(QUERY).body  # the connection goes on


def test_an_http_exception_is_an_answer(client: RawClient, api: FakeApi) -> None:
    def teapot(_: Request) -> Response:
        raise ImATeapot

    api.answers["/handled"] = teapot

    assert 418 == client.ask(GET).status


def test_a_handler_without_a_response_comes_back_as_an_error(
    listener: Listener, client: RawClient
) -> None:
    listener.expect_request("/handled")

    assert 500 == client.ask(GET).status
    with pytest.raises(HTTPServerError.__bases__[0], match="no response defined"):
        listener.check()


def test_the_api_is_told_what_was_answered(
    listener: Listener, client: RawClient, api: FakeApi
) -> None:
    listener.expect_request("/handled").respond_with_data("x", status=201)
    api.answers["/routed"] = Response("", 202)
    for path in (b"handled", b"routed", b"nowhere"):
        client.ask(GET.replace(b"handled", path))

    assert [("/handled", 201), ("/routed", 202), ("/nowhere", 404)] == api.statuses


def test_the_same_api_answers_without_a_socket(listener: Listener, api: FakeApi) -> None:
    listener.stop()
    listener.expect_request("/handled").respond_with_data("x", status=201)
    api.answers["/routed"] = Reply(429, b"slow", (("Retry-After", "3"),), content_type="text/x")
    client = Client(Request.application(listener.application))

    routed = client.get("/routed")
    assert (429, b"slow", "3") == (routed.status_code, routed.data, routed.headers["Retry-After"])
    assert "text/x" == routed.content_type
    assert [201, 404] == [client.post("/handled").status_code, client.get("/x").status_code]
    assert [BALANCE] == [client.get("/v2/balance").data]
