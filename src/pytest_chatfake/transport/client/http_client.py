"""Attempts at a URL: one kept connection, and no event posted twice because of it.

A post is not idempotent: once a byte of it may have reached a server, nothing here sends it again.
What remains is to know, before that byte, whether a kept connection still has a server behind it.
"""

from __future__ import annotations

import io
import re
import select
import socket
from contextlib import suppress
from functools import lru_cache
from http.client import HTTPException, HTTPResponse, parse_headers
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote, urlsplit

from ...webhooks.requests import Answer
from .headers import complete_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext

    from _typeshed import WriteableBuffer

    from .headers import Headers

__all__ = ["Address", "HttpClient", "parse_url"]

# How long after its first answer a server is watched, in seconds, before its connection is used
# again. One that closes after every answer without saying so does it within this time.
_WATCHED = 0.005

# How exact a read keeps to the deadline, in seconds: setting a socket's timeout is a system call.
_EXACT = 0.01

# Answers that announce another one. 101 does not: it ends HTTP on its connection.
_INTERIM = frozenset(range(100, 200)) - {101}


class Address(NamedTuple):
    """A URL, taken apart.

    Attributes:
        host: The name or the IP address to connect to.
        port: The TCP port.
        tls: Whether the scheme is ``https``.
        authority: The value of ``Host``.
        target: Path and query, as the request line has them.
    """

    host: str
    port: int
    tls: bool
    authority: str
    target: str


def parse_url(url: str) -> Address:
    """Take a webhook's URL apart.

    Raises:
        TypeError: The URL is not a ``str``.
        ValueError: Nothing could be posted to it; the message says what to write.
    """
    if not isinstance(url, str):
        raise TypeError(f"a webhook's URL is a str such as 'http://127.0.0.1:8000/', not {url!r}")
    if re.search(r"[\x00-\x20\x7f]", url):
        raise ValueError(f"the URL {url!r} has a space or a control character: quote it, as in %20")
    if not url.isascii():
        plain = quote(url, safe="/:?#[]@!$&'()*+,;=%")
        raise ValueError(f"the URL {url!r} has letters outside ASCII: write {plain!r}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"the URL {url!r} can't be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the URL {url!r} has to be such as 'http://127.0.0.1:8000/hooks/chat'")
    if "@" in parts.netloc:
        raise ValueError(
            f"the URL {url!r} has a user in it: write headers={{'Authorization': ...}} instead"
        )
    if "#" in url:
        raise ValueError(f"the URL {url!r} has a fragment, which is never sent: leave out '#...'")
    if port == 0:
        raise ValueError(f"the URL {url!r} has port 0: write the one that the server listens on")
    host = parts.hostname
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError(f"the URL {url!r} has a host that no server can have") from None
    tls = parts.scheme == "https"
    standard = 443 if tls else 80
    authority = f"[{host}]" if ":" in host else host
    if port not in (None, standard):
        authority = f"{authority}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return Address(host, port or standard, tls, authority, (parts.path or "/") + query)


class HttpClient:
    """Posts to one URL over a connection that is kept from one attempt to the next.

    A server that closed a kept connection without saying so is not trusted with another: the next
    request could meet the closing half-way, and nobody could tell whether it was handled. Such a
    server gets a new connection for every attempt.

    Not safe for threads: one attempt at a time.

    Args:
        url: Where to post.
        timeout: Real seconds for a whole attempt: connecting, sending, and the last byte of the
            answer. Looking up the host's name is not counted.

    Raises:
        ValueError: The URL, see `parse_url`.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        self._address = parse_url(url)
        self._timeout = timeout
        self._kept: socket.socket | None = None
        self._speaks: Callable[[float], bool] = _no_socket
        self._keeps = True
        self._watched_until: float | None = None
        self._tls: SSLContext | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post once and return what came back; a redirect is an answer like any other.

        A refused, broken, cut-off or late answer is an `Answer` with an error, never raised.

        Raises:
            TypeError: A header is not made of ``str``.
            ValueError: A header is not allowed.
        """
        request = self._head(body, headers) + body
        deadline = monotonic() + self._timeout
        try:
            return self._exchange(request, deadline)
        except TimeoutError as error:
            late = TimeoutError(f"no complete answer within {self._timeout:g} s")
            late.__cause__ = error
            return Answer(None, b"", late)
        # The last two come from lengths that no memory holds.
        except (OSError, HTTPException, MemoryError, OverflowError) as error:
            return Answer(None, b"", error)

    def close(self) -> None:
        """Close the kept connection."""
        sock, self._kept = self._kept, None
        if sock is not None:
            sock.close()

    def _head(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        lines = _lines(tuple(headers.items()), self._address)
        return b"%bContent-Length: %d\r\n\r\n" % (lines, len(body))

    def _exchange(self, request: bytes, deadline: float) -> Answer:
        sock = self._take_kept() or self._connect(deadline)
        keep = False
        try:
            left = _left(deadline)
            sock.settimeout(left)
            # The server may have answered before it had read everything.
            with suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(request)
            incoming = _Incoming(sock, deadline, left)
            response = _Response(cast("socket.socket", incoming), method="POST")
            with response:
                response.begin()
                answer = Answer(response.status, response.read())
                keep = self._keeps and not response.will_close and response.status >= 200
        finally:
            # Whatever else happened, the connection is in the middle of something.
            if not keep:
                sock.close()
        if keep:
            self._kept = sock
            if self._watched_until is None:
                self._watched_until = monotonic() + _WATCHED
        return answer

    def _take_kept(self) -> socket.socket | None:
        """Return the kept connection if the server has it open still."""
        sock, self._kept = self._kept, None
        if sock is None:
            return None
        # An idle server sends nothing: what is there is the end of the connection, or an answer to
        # nothing.
        if not self._speaks(max(0.0, (self._watched_until or 0.0) - monotonic())):
            return sock
        sock.close()
        self._keeps = False
        return None

    def _connect(self, deadline: float) -> socket.socket:
        failure: OSError | None = None
        host, port = self._address.host, self._address.port
        for family, kind, protocol, _, place in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(_left(deadline))
                sock.connect(place)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._address.tls:
                    sock = self._secured(sock)
                self._speaks = _ear(sock)
            except BaseException as error:
                sock.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
            else:
                return sock
        raise failure or OSError(f"{host} has no address")

    def _secured(self, sock: socket.socket) -> socket.socket:
        if self._tls is None:
            import ssl  # noqa: PLC0415 - few tests need it

            self._tls = ssl.create_default_context()
        return self._tls.wrap_socket(sock, server_hostname=self._address.host)


@lru_cache(maxsize=128)
def _lines(headers: Headers, address: Address) -> bytes:
    lines = "".join(
        [f"{name}: {value}\r\n" for name, value in complete_headers(headers, address.authority)]
    )
    return f"POST {address.target} HTTP/1.1\r\n{lines}".encode("latin-1")


class _Incoming(io.RawIOBase):
    """What a socket receives until the deadline: a timeout for all reads, not for each."""

    def __init__(self, sock: socket.socket, deadline: float, timeout: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._timeout = timeout  # the socket's now

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Be the part of a socket that ``HTTPResponse`` asks for."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = _left(self._deadline)
        if left < self._timeout - _EXACT:
            self._sock.settimeout(left)
            self._timeout = left
        return self._sock.recv_into(buffer)


class _Response(HTTPResponse):
    """An answer, past those that announce it: ``http.client`` itself skips 100 only."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            line: tuple[str, int, str] = cast("Any", super())._read_status()
            if line[1] not in _INTERIM:
                return line
            parse_headers(self.fp)


def _no_socket(_: float) -> bool:
    raise AssertionError("nothing is connected")


def _ear(sock: socket.socket) -> Callable[[float], bool]:
    """Return what waits so many seconds for a socket, and tells whether something has arrived."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return lambda seconds: bool(poll.poll(seconds * 1000))
    return lambda seconds: bool(select.select([sock], [], [], seconds)[0])


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left
