"""An API to listen for, and a client that sees every byte. No test hangs: all sockets time out."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import NamedTuple

from werkzeug import Response

from pytest_chatfake.transport.server.listener import Listener
from pytest_chatfake.transport.server.replies import Reply, error_reply

SECONDS = 60.0
"""Before a test gives up on a socket or a thread."""

BALANCE = b'{"amount":100,"currency":"USD"}'
QUERY = b"GET /v2/balance HTTP/1.1\r\nHost: test\r\nX-API-Key: k\r\n\r\n"


class FakeApi:
    """Responds to the balance query and to what a test arranges; remembers who asked for what."""

    def __init__(self):
        self.responses = {"/v2/balance": Reply(200, BALANCE)}
        self.requests = []
        self.statuses = []

    def respond(self, request, by_handler, /):
        self.requests.append(request)
        response = self.responses.get(request.path)
        if response is None:
            return by_handler(request) or error_reply(404, "NOT_FOUND", request.path)
        return (
            response(request)
            if callable(response) and not isinstance(response, Response)
            else response
        )

    def responded(self, request, status, body, /):
        self.statuses.append((request.path, status))


class Received(NamedTuple):
    """One response, as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes
    head: bytes


class RawClient:
    """A socket that sends what it is told and reads responses one by one."""

    def __init__(self, listener):
        self.socket = socket.create_connection((listener.host, listener.port), timeout=SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, data):
        self.send(data)
        return self.receive()

    def receive(self, *, bodiless=False):
        """Read one response; ``bodiless`` if it belongs to a HEAD request."""
        head = self.reader.readline()
        status = int(head.split()[1])
        headers = {}
        while (line := self.reader.readline()).strip():
            head += line
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if bodiless or status < 200 or status in {204, 304}:
            body = b""
        else:
            body = self.reader.read(int(headers["content-length"]))
        return Received(status, headers, body, head + line)

    def hung_up(self):
        """Wait until the server closes the connection; False if it sends something instead."""
        try:
            return self.reader.read() == b""
        except ConnectionResetError:
            return True


@contextmanager
def listening(api=None):
    """Run a listener, and stop it unless the test has."""
    listener = Listener(api or FakeApi())
    listener.start()
    try:
        yield listener
    finally:
        if listener.is_running():
            listener.stop()


def eventually(condition):
    """Wait until the condition holds; False if it never does."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
