"""What a test mocks of sockets and threads reaches neither the API's server nor our webhooks."""

import http.client
import json
import socket
import threading
from contextlib import ExitStack
from unittest import mock

import pytest
import pytest_socket

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.http_client import HttpClient
from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.server.listener import Listener

from .listener_support import SECONDS, FakeApi

#: What tests mock to keep their apps off the network, and httpretty, mocket and VCR.py replace.
MOCKED = [
    "http.client.HTTPConnection",
    "http.client.HTTPResponse",
    "http.client.HTTPConnection.connect",
    "socket.socket",
    "socket.create_connection",
    "socket.create_server",
    "socket.fromfd",
    "socket.getaddrinfo",
    "threading.Thread",
    "threading.Lock",
    "importlib.metadata.version",
]


@pytest.fixture
def listener():
    listener = Listener(FakeApi())
    yield listener
    listener.clear()
    if listener.is_running():
        listener.stop()


def posted(listener):
    client = HttpClient(f"http://127.0.0.1:{listener.port}/hooks", timeout=SECONDS)
    try:
        return client.post(b"{}", {})
    finally:
        client.close()


@pytest.mark.parametrize("name", MOCKED)
def test_the_server_starts_and_webhooks_pass_inside_a_mock(listener, name):
    listener.expect_request("/hooks").respond_with_data("ok")

    with mock.patch(name):
        listener.start()
        inside = posted(listener)

    assert [inside, posted(listener)] == [Response(200, b"ok")] * 2


def test_a_server_whose_thread_could_not_start_is_started_again(listener):
    listener.expect_request("/hooks").respond_with_data("ok")

    with mock.patch.object(threading.Thread, "start"):
        listener.start()
    assert not listener.is_running()
    listener.start()

    assert posted(listener) == Response(200, b"ok")


def test_a_server_that_can_not_start_inside_a_mock_starts_after_it(listener):
    listener.expect_request("/hooks").respond_with_data("ok")

    with mock.patch("threading.Event"), pytest.raises(RuntimeError, match="threads"):
        listener.start()  # every thread of Python has an event
    listener.start()

    assert posted(listener) == Response(200, b"ok")


def test_a_connection_that_was_made_inside_a_mock_is_kept_after_it(listener):
    listener.expect_request("/hooks").respond_with_data("ok")
    listener.start()
    client = HttpClient(f"http://127.0.0.1:{listener.port}/hooks", timeout=SECONDS)

    with mock.patch("socket.socket"):
        client.post(b"{}", {})
    client.post(b"{}", {})

    assert len(listener.connections) == 1
    client.close()


@pytest.mark.filterwarnings("ignore:A test tried to use")
def test_a_guard_of_sockets_decides_about_webhooks_as_well(listener):
    listener.start()
    with ExitStack() as stack:
        stack.callback(pytest_socket.enable_socket)
        pytest_socket.disable_socket()
        with pytest.raises(pytest_socket.SocketBlockedError):
            posted(listener)


def test_the_api_responds_to_a_client_inside_a_guard_for_new_sockets():
    with ChatFake() as fake, ExitStack() as stack:
        client = socket.socket()
        stack.callback(client.close)
        stack.callback(pytest_socket.enable_socket)
        pytest_socket.disable_socket()
        address = fake.base_url.removeprefix("http://").split(":")

        client.settimeout(SECONDS)
        client.connect((address[0], int(address[1])))
        connection = http.client.HTTPConnection(*address)
        connection.sock = client
        connection.request("GET", "/v2/balance", headers=fake.headers)

        assert json.loads(connection.getresponse().read())["amount"] == 100
