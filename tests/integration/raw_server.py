"""A server that says exactly which bytes it sends, and counts what it received. No test hangs."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

from pytest_chatfake.transport.client.http_client import HttpClient

SECONDS = 60.0
"""Before a test gives up on a socket or a thread."""

SOON = 0.2
"""A timeout that a test waits for."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n"


class Post(NamedTuple):
    """One request as it came in."""

    head: bytes
    body: bytes


class Conversation:
    """One connection, from the server's side."""

    def __init__(self, server, sock):
        self._server = server
        self._socket = sock
        self._buffer = b""

    def read(self):
        """The next whole request, counted, or None if the client is gone."""
        while b"\r\n\r\n" not in self._buffer:
            if not self.read_more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(self._buffer) < length:
            if not self.read_more():
                return None
        post = Post(head, self._buffer[:length])
        self._buffer = self._buffer[length:]
        self._server.posts.append(post)
        return post

    def read_more(self):
        received = self._socket.recv(1 << 20)
        self._buffer += received
        return bool(received)

    def send(self, data):
        self._socket.sendall(data)

    def reset(self):
        """Break the connection off, as a server does that dies."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self._socket.close()


class RawServer:
    """Runs a script for each connection, in a thread of its own."""

    def __init__(self, script, tls=None):
        self.posts = []
        self.connections = []
        self._script = script
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/hooks/chat"
        self._threads = [threading.Thread(target=self._accept)]
        self._sockets = []
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.settimeout(SECONDS)
            self._sockets.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock):
        # The client may hang up at any time; that is what some tests are about.
        with sock, contextlib.suppress(OSError):
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with sock:
                conversation = Conversation(self, sock)
                self.connections.append(conversation)
                self._script(conversation)

    def close(self):
        for sock in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(SECONDS)
            assert not thread.is_alive()


@contextmanager
def serving(script, tls=None):
    server = RawServer(script, tls)
    try:
        yield server
    finally:
        server.close()


def keeps_responding(data):
    """Respond to every request on a connection with these bytes."""

    def script(conversation):
        while conversation.read():
            conversation.send(data)

    return script


keeps_alive = keeps_responding(OK)


def responds(data):
    """Respond to one request with these bytes, and close."""

    def script(conversation):
        conversation.read()
        conversation.send(data)

    return script


def dribbles(data):
    def script(conversation):
        conversation.read()
        while True:
            for byte in data:
                conversation.send(bytes([byte]))
                time.sleep(0.02)

    return script


def post_to(url, body=b"{}", headers=None, *, timeout=SECONDS, times=1):
    """Post, and abort what takes longer than the timeout, as the watchdog does."""
    client = HttpClient(url, timeout=timeout)
    watch = threading.Timer(timeout, client.abort)
    watch.start()
    try:
        for _ in range(times):
            response = client.post(body, headers or {})
        return response
    finally:
        watch.cancel()
        client.close()


def response_to(data, **options):
    with serving(responds(data)) as server:
        return post_to(server.url, **options)
