"""Attempts at a URL, over a kept connection, but without ever posting twice because of it.

A POST is not idempotent. Once one of its bytes may have reached the server, it is not sent again.
So before the first byte, we have to know whether there is still a server at the other end.

A server that serves one client at a time would not accept a second connection until the first one
is closed. So all endpoints at a server share one kept connection.

The client reads no clock, because freezegun even stops the monotonic one. The watchdog ends
attempts that take too long.
"""

from __future__ import annotations

import socket as socket_module
from contextlib import ExitStack, suppress
from http.client import HTTPException
from selectors import EVENT_READ, DefaultSelector
from socket import IPPROTO_TCP, SHUT_RDWR, SOCK_STREAM, TCP_NODELAY, getaddrinfo, socket
from ssl import create_default_context
from typing import TYPE_CHECKING, Any

from ...base.forks import call_in_children
from .headers import complete_headers
from .receiving import receive
from .responses import Response, timed_out
from .url import Origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

# In seconds: how long to watch a server before its connection is used for the second time. A server
# that closes the connection after every response, unannounced, does so within this time.
WATCH_SECONDS = 0.005

# The idle connections, by server. An attempt takes its connection out, so no two ever share one.
_kept: dict[Origin, socket] = {}


class HttpClient:
    """Posts to one URL over a connection that is kept from one attempt to the next.

    If a server has closed a kept connection without announcing it, every later attempt gets a new
    connection. Otherwise, a request could arrive while the server is closing the connection, and it
    would be impossible to tell whether the request was handled.

    A client makes one attempt at a time. Only `abort` may be called from another thread.

    Args:
        url: Where to post, see `parse_url`.
        timeout: Real seconds for connecting. After that, the caller has to `abort`.

    Attributes:
        path: The path and query to post to; at first, those of the URL.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._address = parse_url(url)
        self.path: str = self._address.target
        self._timeout = timeout
        self._keeps = True
        self._was_watched = False
        self._is_aborted = False
        self._socket: socket | None = None  # the running attempt's

    def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Post once and return the response; redirects are not followed.

        If there is no complete response, the result has the error. The only errors raised are those
        for headers that are not allowed, see `complete_headers`.
        """
        complete = complete_headers(headers.items(), self._address.authority)
        lines = [
            f"POST {self.path} HTTP/1.1",
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
        """From another thread, end the running attempt, which then counts as timed out."""
        self._is_aborted = True
        if (sock := self._socket) is not None:
            with suppress(OSError):
                socket.shutdown(sock, SHUT_RDWR)  # below TLS, which the other thread uses

    def close(self) -> None:
        """Close the kept connection to the server; the server's other endpoints make a new one."""
        self._keeps = False
        _close_kept(self._address.origin)

    def _exchange(self, sock: socket, request: bytes) -> Response:
        kept = None
        self._socket = sock
        try:
            self._check_aborted()  # abort() may have been called while we connected
            # The server may respond, and close the connection, before it has read everything.
            with suppress(ConnectionError):  # which subclass depends on the system
                sock.sendall(request)
            response, is_reusable = receive(sock)
            self._socket = None  # first, so that no kept connection is shut down
            self._check_aborted()
            if is_reusable and self._keeps:
                kept = _kept.setdefault(self._address.origin, sock)
            return response
        finally:
            self._socket = None
            # The connection is in the middle of a message, or a concurrent attempt has kept another
            # one.
            if kept is not sock:
                sock.close()

    def _check_aborted(self) -> None:
        if self._is_aborted:
            raise TimeoutError

    def _take_kept(self) -> socket | None:
        sock = _kept.pop(self._address.origin, None)
        if sock is None:
            return None
        # An idle server sends nothing, so anything to read is the end of the connection, or a
        # response without a request.
        if not _is_readable(sock, 0 if self._was_watched else WATCH_SECONDS):
            self._was_watched = True
            return sock
        sock.close()
        self._keeps = False
        return None

    def _connect(self) -> socket:
        host, port, tls = self._address.origin
        for origin in list(_kept):
            if origin.port == port:  # the same server, perhaps, under another name
                _close_kept(origin)
        sock = connect(host, port, self._timeout)
        try:
            if tls:
                context = create_default_context()
                context.set_alpn_protocols(["http/1.1"])
                sock = context.wrap_socket(sock, server_hostname=host)
            sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            sock.settimeout(None)
        except BaseException:
            sock.close()
            raise
        return sock


def connect(host: str, port: int, timeout: float) -> socket:
    """Connect like ``socket.create_connection()``, but not through the mocks of a test's app.

    A guard, such as pytest-socket's, is a subclass of the real class, and decides about our
    connections as well.
    """
    now: Any = socket_module.socket
    kind = now if isinstance(now, type) and issubclass(now, socket) else socket
    failure: OSError | None = None
    for *details, _, address in getaddrinfo(host, port, type=SOCK_STREAM):
        with ExitStack() as stack:
            try:
                sock = stack.enter_context(kind(*details))
                sock.settimeout(timeout)
                sock.connect(address)
            except OSError as error:  # this machine may not even know the address's family
                failure = error
            else:
                stack.pop_all()
                return sock
    try:
        raise failure or OSError(f"no address for {host}")
    finally:
        del failure  # breaks the cycle between the error's traceback and this frame


def _close_kept(origin: Origin) -> None:
    sock = _kept.pop(origin, None)
    if sock is not None:
        sock.close()


def _leave_to_parent() -> None:
    for origin in list(_kept):
        _close_kept(origin)  # this process's end only


call_in_children(_leave_to_parent)


def _is_readable(sock: socket, seconds: float) -> bool:
    # The end of the connection counts as something to read.
    with DefaultSelector() as selector:
        selector.register(sock, EVENT_READ)
        return bool(selector.select(seconds))
