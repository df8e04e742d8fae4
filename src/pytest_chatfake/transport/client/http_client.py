"""Attempts at a URL: one kept connection, and no event posted twice because of it.

A post is not idempotent: once a byte of it may have reached a server, nothing here sends it again.
So before that byte we have to know whether a kept connection still has a server behind it.

A server that serves one client at a time comes to a second connection when the first one is closed.
So all endpoints at a server share its kept connection, and a new one is never made beside it.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from http.client import HTTPException
from time import monotonic
from typing import TYPE_CHECKING

from .connection import Connection, Deadline
from .headers import Headers, complete_headers
from .responses import Response, timed_out
from .url import Address, Server, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ssl import SSLContext

# How long after its first response a server is watched, in seconds, before its connection is used
# again. One that closes after every response without saying so does it within this time.
WATCH_SECONDS = 0.005

# The idle connections, by server. An attempt takes one out, so no two attempts ever share it.
_kept: dict[Server, Connection] = {}


class HttpClient:
    """Posts to one URL over a connection that is kept from one attempt to the next.

    A server that closed a kept connection without saying so gets a new connection for every
    attempt from then on: the next request could arrive while it is closing, and nobody could tell
    whether it was handled.

    Not safe for threads: one attempt at a time.

    Args:
        url: Where to post, see `parse_url`.
        timeout: Real seconds for a whole attempt: connecting, sending, and the last byte of the
            response. Looking up the host's name is not counted.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._address = parse_url(url)
        self._timeout = timeout
        self._keeps = True
        self._tls: SSLContext | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Post once and return what came back; a redirect is a response like any other.

        A refused, broken, cut-off or late response is one with an error. Nothing is raised
        but for headers that are not allowed, see `complete_headers`.
        """
        lines = _request_lines(tuple(headers.items()), self._address)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body)
        try:
            return self._exchange(request, Deadline(self._timeout))
        except TimeoutError:
            return Response(None, b"", timed_out(self._timeout))
        except (OSError, HTTPException) as error:
            return Response(None, b"", error)

    def close(self) -> None:
        """Close the kept connection to the server; other endpoints there make a new one."""
        self._keeps = False
        _close_kept(self._address.server)

    def _exchange(self, request: bytes, deadline: Deadline) -> Response:
        connection = self._take_kept() or self._connect(deadline)
        kept = None
        try:
            response, reusable = connection.exchange(request, deadline)
            if reusable and self._keeps:
                connection.watched_until = connection.watched_until or monotonic() + WATCH_SECONDS
                kept = _kept.setdefault(self._address.server, connection)
        finally:
            # It is in the middle of something, or an attempt at the same time has kept another.
            if kept is not connection:
                connection.close()
        return response

    def _take_kept(self) -> Connection | None:
        """Return the kept connection if the server has it open still."""
        connection = _kept.pop(self._address.server, None)
        if connection is None:
            return None
        # An idle server sends nothing: what is there is the end of the connection, or a response
        # that nobody asked for.
        if not connection.is_readable(max(0.0, connection.watched_until - monotonic())):
            return connection
        connection.close()
        self._keeps = False
        return None

    def _connect(self, deadline: Deadline) -> Connection:
        host, port, tls = self._address.server
        for server in list(_kept):
            if server.port == port:  # it may be this one, under another name
                _close_kept(server)
        sock = socket.create_connection((host, port), deadline.left())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Connection(self._secure(sock, host) if tls else sock)

    def _secure(self, sock: socket.socket, host: str) -> socket.socket:
        if self._tls is None:
            import ssl  # noqa: PLC0415 - few tests need it

            self._tls = ssl.create_default_context()
        try:
            return self._tls.wrap_socket(sock, server_hostname=host)
        except BaseException:
            sock.close()
            raise


def _close_kept(server: Server) -> None:
    connection = _kept.pop(server, None)
    if connection is not None:
        connection.close()


@lru_cache(maxsize=128)  # endpoints send the same headers again and again
def _request_lines(headers: Headers, address: Address) -> bytes:
    lines = "".join(
        [f"{name}: {value}\r\n" for name, value in complete_headers(headers, address.authority)]
    )
    return f"POST {address.target} HTTP/1.1\r\n{lines}".encode("latin-1")
