"""Attempts at a URL: one kept connection, and no event posted twice because of it.

A post is not idempotent: once a byte of it may have reached a server, nothing here sends it again.
So before that byte we have to know whether a kept connection still has a server behind it.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from http.client import HTTPException
from time import monotonic
from typing import TYPE_CHECKING

from .answers import Answer
from .connection import Connection, time_left
from .headers import Headers, complete_headers
from .url import Address, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ssl import SSLContext

# How long after its first answer a server is watched, in seconds, before its connection is used
# again. One that closes after every answer without saying so does it within this time.
WATCH_SECONDS = 0.005


class HttpClient:
    """Posts to one URL over a connection that is kept from one attempt to the next.

    A server that closed a kept connection without saying so gets a new connection for every
    attempt from then on: the next request could arrive while it is closing, and nobody could tell
    whether it was handled.

    Not safe for threads: one attempt at a time.

    Args:
        url: Where to post, see `parse_url`.
        timeout: Real seconds for a whole attempt: connecting, sending, and the last byte of the
            answer. Looking up the host's name is not counted.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._address = parse_url(url)
        self._timeout = timeout
        self._kept: Connection | None = None
        self._keeps = True
        self._watched_until: float | None = None
        self._tls: SSLContext | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post once and return what came back; a redirect is an answer like any other.

        A refused, broken, cut-off or late answer is an `Answer` with an error. Nothing is raised
        but for headers that are not allowed, see `complete_headers`.
        """
        lines = _request_lines(tuple(headers.items()), self._address)
        request = b"%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body)
        try:
            return self._exchange(request, monotonic() + self._timeout)
        except TimeoutError as error:
            late = TimeoutError(f"no complete answer within {self._timeout:g} s")
            late.__cause__ = error
            return Answer(None, b"", late)
        # The last two come from lengths that no memory holds.
        except (OSError, HTTPException, MemoryError, OverflowError) as error:
            return Answer(None, b"", error)

    def close(self) -> None:
        """Close the kept connection."""
        connection, self._kept = self._kept, None
        if connection is not None:
            connection.close()

    def _exchange(self, request: bytes, deadline: float) -> Answer:
        connection = self._take_kept() or self._connect(deadline)
        keep = False
        try:
            answer, reusable = connection.exchange(request, deadline)
            keep = reusable and self._keeps
        finally:
            # Whatever else happened, the connection is in the middle of something.
            if not keep:
                connection.close()
        if keep:
            self._kept = connection
            if self._watched_until is None:
                self._watched_until = monotonic() + WATCH_SECONDS
        return answer

    def _take_kept(self) -> Connection | None:
        """Return the kept connection if the server has it open still."""
        connection, self._kept = self._kept, None
        if connection is None:
            return None
        # An idle server sends nothing: what is there is the end of the connection, or an answer
        # that nobody asked for.
        if not connection.is_readable(max(0.0, (self._watched_until or 0.0) - monotonic())):
            return connection
        connection.close()
        self._keeps = False
        return None

    def _connect(self, deadline: float) -> Connection:
        failure: OSError | None = None
        host, port = self._address.host, self._address.port
        for family, kind, protocol, _, place in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(time_left(deadline))
                sock.connect(place)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._address.tls:
                    sock = self._secure(sock)
                return Connection(sock)
            except BaseException as error:
                sock.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
        raise failure or OSError(f"{host} has no address")

    def _secure(self, sock: socket.socket) -> socket.socket:
        if self._tls is None:
            import ssl  # noqa: PLC0415 - few tests need it

            self._tls = ssl.create_default_context()
        return self._tls.wrap_socket(sock, server_hostname=self._address.host)


@lru_cache(maxsize=128)  # endpoints send the same headers again and again
def _request_lines(headers: Headers, address: Address) -> bytes:
    lines = "".join(
        [f"{name}: {value}\r\n" for name, value in complete_headers(headers, address.authority)]
    )
    return f"POST {address.target} HTTP/1.1\r\n{lines}".encode("latin-1")
