"""What a test adds to the listener: pytest-httpserver's handlers, its log, its errors."""

import json

import pytest
from pytest_httpserver import HTTPServerError
from werkzeug import Response
from werkzeug.exceptions import ImATeapot

from pytest_chatfake.transport.server.replies import Reply

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
)

GET = b"GET /handled HTTP/1.1\r\n\r\n"


def test_a_handler_responds_to_what_the_api_leaves_to_it(listener, client, api):
    listener.expect_request("/handled", method="POST", json={"a": 1}).respond_with_json({"b": 2})
    response = client.ask(b"POST /handled HTTP/1.1\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}')

    assert (response.status, json.loads(response.body)) == (200, {"b": 2})
    assert client.ask(QUERY).body == BALANCE


def test_the_api_comes_first(listener, client, api):
    listener.expect_request("/handled").respond_with_data("by the handler")
    listener.expect_request("/v2/balance").respond_with_data("by the handler")
    api.responses["/handled"] = Reply(200, b"by the API")

    assert [client.ask(GET).body, client.ask(QUERY).body] == [b"by the API", BALANCE]


def test_the_api_responds_to_an_unmatched_request_without_an_error(listener, client):
    listener.expect_request("/other").respond_with_data("x")
    listener.expect_oneshot_request("/another").respond_with_data("x")
    response = client.ask(GET)

    assert (response.status, json.loads(response.body)["error"]["code"]) == (404, "NOT_FOUND")
    assert listener.log == []
    listener.check()


def test_another_request_than_the_ordered_one_is_a_failed_assertion(listener, client):
    listener.expect_ordered_request("/first").respond_with_data("first")
    response = client.ask(GET)

    assert response.status == 500
    with pytest.raises(AssertionError, match="No handler found"):
        listener.check()
    listener.clear()
    assert client.ask(GET).status == 404
    listener.check()


def test_the_log_holds_only_what_reached_a_handler(listener, client, api):
    listener.expect_request("/handled").respond_with_data("x")
    api.responses["/routed"] = Reply(200, b"")
    for request in (QUERY, GET, GET.replace(b"handled", b"routed"), GET.replace(b"h", b"x")):
        client.ask(request)

    assert [(asked.path, said.status_code) for asked, said in listener.log] == [("/handled", 200)]
    listener.assert_request_made(listener.create_matcher("/handled"))


def test_waiting_for_handlers_works(listener, client):
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
@pytest.mark.parametrize("raised_by", ["a handler", "the API"])
def test_an_error_is_a_500_and_comes_back_once(listener, client, api, error, raised_by):
    def broken(_):
        raise error

    if raised_by == "the API":
        api.responses["/handled"] = broken
    else:
        listener.expect_request("/handled").respond_with_handler(broken)
    assert client.ask(GET).status == 500

    is_assertion = isinstance(error, AssertionError)
    assert [error] == (listener.assertions if is_assertion else listener.handler_errors)
    with pytest.raises(type(error), match="by zero"):
        listener.check()
    listener.check()
    assert client.ask(QUERY).body == BALANCE  # the connection goes on


def test_an_http_exception_is_a_response(client, api):
    def teapot(_):
        raise ImATeapot

    api.responses["/handled"] = teapot

    assert client.ask(GET).status == 418


def test_a_handler_without_a_response_comes_back_as_an_error(listener, client):
    listener.expect_request("/handled")

    assert client.ask(GET).status == 500
    with pytest.raises(HTTPServerError.__bases__[0], match="no response defined"):
        listener.check()


def test_the_api_notes_each_response(listener, client, api):
    listener.expect_request("/handled").respond_with_data("x", status=201)
    api.responses["/routed"] = Response("", 202)
    for path in (b"handled", b"routed", b"nowhere"):
        client.ask(GET.replace(b"handled", path))

    assert api.statuses == [("/handled", 201), ("/routed", 202), ("/nowhere", 404)]
