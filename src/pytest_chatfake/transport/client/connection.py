"""One connection to a server: a request, its response, and one deadline for both.

Two ways lead to a response. Nearly all are short, say their length and arrive in one piece: such a
one is recognised by its head. Everything else goes the general way, through ``http.client``, which
begins with the bytes that have arrived by then. It reads no more than an attempt may cost, whatever
the server sends, and where that is no complete response, it says so in a sentence.
"""

from __future__ import annotations

import io
import re
from contextlib import suppress
from functools import lru_cache
from http.client import (
    BadStatusLine,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    RemoteDisconnected,
    UnknownProtocol,
    parse_headers,
)
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from ..header_parsing import FIELD_LINE, plain_fields
from .responses import Response
from .watchdog import is_debugging

if TYPE_CHECKING:
    from socket import socket

    from _typeshed import WriteableBuffer

READ_LIMIT = 16 * 1024 * 1024  # bytes of a response, announcements included, before it is given up
KEEP_LIMIT = 64 * 1024  # bytes of a body that are kept

PLAIN_HEAD = re.compile(
    rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [^\r\n\0]*)?\r\n((?:%b)*)\r\n" % FIELD_LINE.pattern
)
BODILESS = {b"204", b"304"}

# Responses that announce another one. 101 does not: it ends HTTP on its connection.
INTERIM = frozenset(range(100, 200)) - {101}


class Connection:
    """A connected socket.

    Attributes:
        watched_until: How long it is waited for its end before it is used again; 0 at first.
    """

    def __init__(self, sock: socket) -> None:
        self._sock = sock
        self.watched_until: float = 0.0
        self._selector = DefaultSelector()
        self._selector.register(sock, EVENT_READ)

    def close(self) -> None:
        """Close the socket."""
        self._selector.close()
        self._sock.close()

    def is_readable(self, seconds: float) -> bool:
        """Wait so long, and say whether something has arrived, the connection's end included."""
        return bool(self._selector.select(seconds))

    def exchange(self, request: bytes, deadline: Deadline) -> tuple[Response, bool]:
        """Send a request and read its response, to the last byte before the deadline.

        Returns:
            The response, and whether the connection can take another request.

        Raises:
            HTTPException: What came is not HTTP, or is cut off.
            OSError: The connection broke, or the time was up.
        """
        self._sock.settimeout(deadline.left())
        # The server may have answered before it had read everything.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._sock.sendall(request)
        arrived = self.receive(KEEP_LIMIT, deadline)
        end = arrived.find(b"\r\n\r\n") + 4
        plain = _read_plain_head(arrived[:end])
        if plain is not None and len(arrived) == end + plain[1]:
            return Response(plain[0], arrived[end:]), True
        with _HttpResponse(
            cast("socket", _Incoming(self, arrived, deadline)), method="POST"
        ) as response:
            response.begin()
            received = Response(response.status, response.read_start())
            return received, not response.will_close and response.status >= 200

    def receive(self, limit: int, deadline: Deadline) -> bytes:
        """Return what arrives next, at most so many bytes; none at the end of the connection."""
        while True:
            self._sock.settimeout(deadline.left())
            try:
                return self._sock.recv(limit)
            except TimeoutError:
                deadline.pass_by()


class Deadline:
    """The end of the time that an attempt has, in real seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left; if there are none, :meth:`pass_by`."""
        left = self._end - monotonic()
        if left > 0:
            return left
        self.pass_by()
        return self._seconds

    def pass_by(self) -> None:
        """Raise a TimeoutError; but while somebody debugs, the time begins anew."""
        if not is_debugging():
            raise TimeoutError
        self._end = monotonic() + self._seconds


@lru_cache(maxsize=32)  # a server's answers often have the same head
def _read_plain_head(head: bytes) -> tuple[int, int] | None:
    """Return the status and the body's length if this is all that there is to know; else None."""
    match = PLAIN_HEAD.fullmatch(head)
    fields = match and plain_fields(match[2])
    if match is None or fields is None or b"transfer-encoding" in fields:
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    length = b"0" if match[1] in BODILESS else fields.get(b"content-length", b"")
    return (int(match[1]), int(length)) if re.fullmatch(rb"[0-9]{1,8}", length) else None


class _Incoming(io.RawIOBase):
    """What a connection receives, with what it has received already before it."""

    def __init__(self, connection: Connection, arrived: bytes, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._arrived = arrived
        self._received = len(arrived)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Be the part of a socket that ``HTTPResponse`` asks for."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        space = memoryview(buffer)
        arrived = self._arrived
        if not arrived:
            arrived = self._connection.receive(len(space), self._deadline)
            self._received += len(arrived)
            if self._received > READ_LIMIT:
                raise HTTPException(f"the response is longer than {READ_LIMIT // 2**20} MiB")
        taken = arrived[: len(space)]
        self._arrived = arrived[len(taken) :]
        space[: len(taken)] = taken
        return len(taken)


class _HttpResponse(HTTPResponse):
    """A response as ``http.client`` reads it, with sentences for what is wrong with it."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            try:
                line: tuple[str, int, str] = cast("Any", super())._read_status()
            except RemoteDisconnected:
                raise
            except BadStatusLine as error:
                shown = (str(error).strip() or str(error))[:80]
                raise HTTPException(f"no HTTP response: it began with {shown!r}") from error
            if line[1] not in INTERIM:
                return line
            parse_headers(self.fp)  # ``http.client`` itself skips 100 only

    def begin(self) -> None:
        try:
            super().begin()
        except UnknownProtocol as error:
            raise HTTPException(f"no HTTP/1.1 response: it began with '{error}'") from error
        lengths = {value.strip() for value in self.headers.get_all("Content-Length", ())}
        shown = " and ".join(sorted(lengths))
        if lengths and not self.chunked and not re.fullmatch("[0-9]{1,18}", shown):
            raise HTTPException(f"the response has an impossible Content-Length: {shown[:80]!r}")

    def read_start(self) -> bytes:
        """Read the whole body, and return as much of its beginning as is kept."""
        start, size = b"", 0
        try:
            while part := self.read(KEEP_LIMIT):
                start += part[: KEEP_LIMIT - len(start)]
                size += len(part)
        except (IncompleteRead, ValueError) as error:
            raise HTTPException("the response's chunks are malformed or cut off") from error
        if self.length:
            whole = size + self.length
            raise HTTPException(
                f"the response is cut off: {size} of {whole} bytes of its body came"
            )
        return start
