"""Several endpoints at one server: one that serves one client at a time gets all their events."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.targets import UrlTarget

from ..unit.both_frameworks import hard_limit  # noqa: F401
from .raw_server import OK, SECONDS, keeps_alive, serving

SOON = 2.0
"""Seconds that an attempt may take where another endpoint's connection could be in its way."""


class OneAtATime(HTTPServer):
    """Serves one connection to its end before it takes the next, as HTTP/1.1 allows."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts = []
        self.connections = set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, body))
        self.server.connections.add(self.client_address)
        self.wfile.write(OK)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = OneAtATime()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join(SECONDS)
    assert not thread.is_alive()
    server.server_close()


@contextmanager
def targets(*urls):
    opened = [UrlTarget(url, timeout=SOON) for url in urls]
    try:
        yield opened
    finally:
        for target in opened:
            target.close()


def request(number):
    return SimpleNamespace(body=b"%d" % number, headers={})


def stop(server):
    """Shut a server down; that never ends while it waits for a client."""
    stopping = threading.Thread(target=server.shutdown, daemon=True)
    stopping.start()
    stopping.join(SECONDS)
    return not stopping.is_alive()


@pytest.mark.parametrize("hosts", [("127.0.0.1",) * 2, ("127.0.0.1", "localhost")])
def test_two_endpoints_at_a_server_for_one_client_both_get_their_events(server, hosts):
    port = server.server_port
    with targets(*(f"http://{host}:{port}/{host}" for host in hosts)) as both:
        responses = [target.attempt(request(number)) for number in range(3) for target in both]

    assert [Response(200, b"ok")] * 6 == responses
    assert [(f"/{host}", b"%d" % n) for n in range(3) for host in hosts] == server.posts


def test_an_endpoint_that_is_disconnected_lets_go_of_the_server_at_once(server, fake):
    endpoint = fake.webhooks.connect(f"http://127.0.0.1:{server.server_port}/")
    fake.send_text()
    endpoint.disconnect()
    endpoint.disconnect()

    assert stop(server)


def test_an_endpoint_that_its_own_server_disconnects_finishes_the_attempt():
    gone = threading.Event()

    def script(conversation):
        conversation.read()
        endpoint.disconnect()
        conversation.send(OK)
        assert conversation.read() is None
        gone.set()

    with serving(script) as server, ChatFake() as fake:
        endpoint = fake.webhooks.connect(server.url)
        fake.send_text()
        fake.send_text()

        assert [attempt.status_code for attempt in fake.webhooks.attempts] == [200]
        assert gone.wait(SECONDS)


def test_endpoints_at_different_servers_keep_a_connection_each():
    with serving(keeps_alive) as one, serving(keeps_alive) as other:
        with targets(one.url, other.url) as both:
            for number in range(6):
                both[number % 2].attempt(request(number))

        assert [len(one.posts), len(other.posts)] == [3, 3]
        assert [len(one.connections), len(other.connections)] == [1, 1]


def test_a_batch_at_one_url_has_a_connection_for_each_event():
    together = threading.Barrier(3)

    def script(conversation):
        conversation.read()
        together.wait(SECONDS)  # passes only if all three are being handled
        conversation.send(OK)

    with serving(script) as server, ChatFake() as fake:
        fake.webhooks.connect(server.url)
        with fake.webhooks.concurrently():
            fake.send_text().deliver().read()

        assert [attempt.status_code for attempt in fake.webhooks.attempts] == [200] * 3
        assert len(server.connections) == 3
