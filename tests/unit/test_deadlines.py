"""A connection has one deadline for sending and for all reads, on a clock that the test moves."""

from __future__ import annotations

import socket

import pytest

from pytest_chatfake.transport.client import connection as module
from pytest_chatfake.transport.client.connection import Connection, Deadline
from pytest_chatfake.transport.client.responses import Response

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class SlowSocket:
    """Takes a second for each part that it receives, and remembers the timeout that it had."""

    def __init__(self, parts):
        self.now = 0.0
        self.parts = list(parts)
        self.timeout = 10.0
        self.timeouts = []
        self._real, self._other = socket.socketpair()

    def fileno(self):
        return self._real.fileno()

    def close(self):
        self._real.close()
        self._other.close()

    def gettimeout(self):
        return self.timeout

    def settimeout(self, timeout):
        self.timeout = timeout

    def sendall(self, data):
        self.timeouts.append(self.timeout)

    def recv(self, limit):
        self.timeouts.append(self.timeout)
        self.now += 1.0
        return self.parts.pop(0)


@pytest.fixture
def connect(monkeypatch):
    sockets = []

    def connect(*parts):
        sockets.append(SlowSocket(parts))
        monkeypatch.setattr(module, "monotonic", lambda: sockets[-1].now)
        return sockets[-1], Connection(sockets[-1])

    yield connect
    for sock in sockets:
        sock.close()


def test_every_read_has_what_is_left_of_the_time(connect):
    sock, connection = connect(OK[:5], OK[5:20], OK[20:-1], OK[-1:])

    assert (Response(200, b"ok"), True) == connection.exchange(b"", Deadline(10.0))
    assert [10.0, 10.0, 9.0, 8.0, 7.0] == sock.timeouts


def test_the_next_exchange_has_its_whole_time_again(connect):
    sock, connection = connect(OK[:5], OK[5:], OK)
    connection.exchange(b"", Deadline(10.0))
    connection.exchange(b"", Deadline(10.0))

    assert [10.0, 10.0, 9.0, 10.0, 10.0] == sock.timeouts


def test_when_the_time_is_up_nothing_is_read_any_more(connect):
    _, connection = connect(*(bytes([byte]) for byte in OK))

    with pytest.raises(TimeoutError):
        connection.exchange(b"", Deadline(5.0))
