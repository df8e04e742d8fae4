"""Attempts at a URL: one kept connection, and no event posted twice because of it.

A post is not idempotent: once a byte of it may have reached a server, nothing here sends it again.
So before that byte we have to know whether a kept connection still has a server behind it.

A server that serves one client at a time comes to a second connection when the first one is closed.
So all endpoints at a server share its kept connection, and a new one is never made beside it.

No clock is read, for freezegun stops the monotonic one, too. The watchdog ends what is overdue.
"""

from __future__ import annotations

from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from selectors import EVENT_READ, DefaultSelector
from socket import SHUT_RDWR
from typing import TYPE_CHECKING

from .headers import complete_headers
from .receiving import receive
from .responses import Response, timed_out
from .url import Origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

# How long a server is watched, in seconds, before its connection is used again for the first time.
# One that closes after every response without saying so does it within this time.
WATCH_SECONDS = 0.005

# The idle connections, by server. An attempt takes one out, so no two attempts ever share it.
_kept: dict[Origin, socket] = {}


class HttpClient:
    """Posts to one URL over a connection that is kept from one attempt to the next.

    A server that closed a kept connection without saying so gets a new connection for every
    attempt from then on: the next request could arrive while it is closing, and nobody could tell
    whether it was handled.

    Not safe for threads but for `abort`: one attempt at a time.

    Args:
        url: Where to post, see `parse_url`.
        timeout: Real seconds for connecting. After that, the caller of `abort` counts.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._address = parse_url(url)
        self._timeout = timeout
        self._keeps = True
        self._was_watched = False
        self._is_aborted = False
        self._socket: socket | None = None  # of the attempt that is being made

    def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Post once and return what came back; a redirect is a response like any other.

        A refused, broken, cut-off or aborted response is one with an error. Nothing is raised
        but for headers that are not allowed, see `complete_headers`.
        """
        complete = complete_headers(headers.items(), self._address.authority)
        lines = [
            f"POST {self._address.target} HTTP/1.1",
            *[f"{name}: {value}" for name, value in complete],
        ]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
        self._is_aborted = False
        try:
            return self._exchange(
                self._take_kept() or self._connect(), head.encode("latin-1") + body
            )
        except (OSError, HTTPException) as error:
            is_late = self._is_aborted or isinstance(error, TimeoutError)
            return Response(None, b"", timed_out(self._timeout) if is_late else error)

    def abort(self) -> None:
        """End the attempt that is being made, from another thread, as one whose time is up."""
        self._is_aborted = True
        if (sock := self._socket) is not None:
            with suppress(OSError):
                sock.shutdown(SHUT_RDWR)

    def close(self) -> None:
        """Close the kept connection to the server; other endpoints there make a new one."""
        self._keeps = False
        _close_kept(self._address.origin)

    def _exchange(self, sock: socket, request: bytes) -> Response:
        kept = None
        self._socket = sock
        try:
            self._check_aborted()  # while it connected
            # The server may have responded before it had read everything.
            with suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(request)
            response, is_reusable = receive(sock)
            self._socket = None  # in this order, no kept connection is shut down
            self._check_aborted()
            if is_reusable and self._keeps:
                kept = _kept.setdefault(self._address.origin, sock)
            return response
        finally:
            self._socket = None
            # It is in the middle of something, or an attempt at the same time has kept another.
            if kept is not sock:
                sock.close()

    def _check_aborted(self) -> None:
        if self._is_aborted:
            raise TimeoutError

    def _take_kept(self) -> socket | None:
        """Return the kept connection if the server has it open still."""
        sock = _kept.pop(self._address.origin, None)
        if sock is None:
            return None
        # An idle server sends nothing: what is there is the end of the connection, or a response
        # that nobody asked for.
        if not _is_readable(sock, 0 if self._was_watched else WATCH_SECONDS):
            self._was_watched = True
            return sock
        sock.close()
        self._keeps = False
        return None

    def _connect(self) -> socket:
        host, port, tls = self._address.origin
        for origin in list(_kept):
            if origin.port == port:  # it may be this one, under another name
                _close_kept(origin)
        connection = (HTTPSConnection if tls else HTTPConnection)(host, port, timeout=self._timeout)
        connection.connect()
        connection.sock.settimeout(None)
        return connection.sock


def _close_kept(origin: Origin) -> None:
    sock = _kept.pop(origin, None)
    if sock is not None:
        sock.close()


def _is_readable(sock: socket, seconds: float) -> bool:
    """Wait so long, and return whether something has arrived, the connection's end included."""
    with DefaultSelector() as selector:
        selector.register(sock, EVENT_READ)
        return bool(selector.select(seconds))
