"""One client's connection, kept alive from request to request (HTTP/1.1).

Nearly every request of a suite is the balance query, so a plain one that has arrived in one piece
is recognised by one expression and answered at once. Everything else is read strictly, becomes a
werkzeug ``Request``, and goes through user routes and pytest-httpserver handlers. Both ways read
from the same buffered reader, and the short one takes nothing from it before it is sure, so they
can follow each other in any order.

We don't support keep-alive with HTTP/1.0, and don't use werkzeug's ``run_wsgi``: it closes the
connection after each response, and waits 10 ms for what the client may still send. A response is
sent whole: it is a :class:`Reply` by then, however it was made.

No timeout and no wall clock: process time may stand still while we serve. A client may be as
slow as it likes; it holds one thread, and `Connection.close` ends it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from email.message import Message
from functools import lru_cache
from io import BufferedReader, BytesIO
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Event
from typing import Any, NamedTuple, Protocol, cast

from werkzeug import Request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler

from ..header_parsing import FIELD_LINE, plain_fields
from .replies import Reply, error_reply, head, status_line
from .requests import (
    Refusal,
    body_length,
    read_body,
    read_headers,
    read_request_line,
)

# A whole balance query, from the first byte to the blank line after its headers.
PLAIN_QUERY = re.compile(
    rb"GET /v2/balance(?:\?[!-~]*)? HTTP/1\.1\r\n((?:%b)*)\r\n" % FIELD_LINE.pattern
)
# Headers that make more of a request than these lines.
NOT_PLAIN = {b"content-length", b"transfer-encoding", b"expect", b"upgrade"}

LINGER_SECONDS = 0.5
LINGER_READS = 64


class _Site(Protocol):
    """Responds, to many threads at once; what goes wrong there is a reply, too."""

    def balance(self, key: str | None, /) -> Reply: ...
    def answer(self, request: Request, /) -> Reply: ...


class Connection(WSGIRequestHandler):
    """Serves one client until it hangs up, asks to be closed, or `close` is called."""

    disable_nagle_algorithm = True

    # As the base class has them; said again, because a type checker of users infers nothing.
    close_connection: bool
    command: str
    headers: Message[str, str]
    path: str
    request_version: str

    def __init__(
        self, client: socket, address: tuple[str, int], server: BaseWSGIServer, site: _Site
    ) -> None:
        # Without the base class's constructor, which serves before it returns: whoever tracks
        # connections needs to know this one first.
        self.request = client
        self.client_address = address
        self.server = server
        self.site = site
        self.close_connection = False
        self.idle: bool = True
        self._closed = Event()
        self._retired = False

    def serve(self) -> None:
        """Answer requests until the connection ends. Runs in a thread of its own."""
        with suppress(OSError):
            self.setup()
            self.request.settimeout(None)  # whatever the test set as the default for its sockets
            self._reader = cast("BufferedReader", self.rfile)
            try:
                self.handle()
            finally:
                self.finish()

    def close(self) -> None:
        """End the connection from another thread; a wait for the client or a delay is cut short."""
        self._closed.set()
        with suppress(OSError):
            self.request.shutdown(SHUT_RDWR)

    def retire(self) -> None:
        """End the connection from another thread as soon as no request is being answered."""
        self._retired = True
        if self.idle:
            self.close()

    def handle(self) -> None:
        """Answer one request after the other."""
        while not self.close_connection:
            self.idle = True
            if self._retired:  # asked in this order, `retire` can't slip in between unseen
                break
            arrived = self._reader.peek()  # waits for the next request
            self.idle = False
            if not arrived:
                return
            self.command = "GET"  # until something else is read
            query = _read_plain_query(arrived)
            if query is None:
                self._answer_any_request()
            else:
                self._reader.read(query.size)
                self._send_reply(self.site.balance(query.key))
        self._linger()

    def _answer_any_request(self) -> None:
        try:
            environ = self._read_request()
        except Refusal as refusal:
            self.close_connection = True  # where the next request starts can't be known
            self._send_reply(error_reply(400, "BAD_REQUEST", str(refusal)))
            return
        self._send_reply(self.site.answer(Request(environ, populate_request=False)))

    def _read_request(self) -> dict[str, Any]:
        """Read one request to the end of its body, and return its WSGI environ."""
        self.command, self.path, self.request_version = read_request_line(self._reader)
        self.headers = headers = read_headers(self._reader)
        length = body_length(headers)
        waits = headers.get("Expect", "").lower() == "100-continue"
        if waits and length != 0 and self.request_version == "HTTP/1.1":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = read_body(self._reader, length)
        try:
            environ = self.make_environ()
        except ValueError as error:
            raise Refusal(f"expected a request target, got {self.path[:80]!r}: {error}") from None
        if self.path.startswith("//"):  # werkzeug takes one slash for none
            environ["PATH_INFO"] = "/" + environ["PATH_INFO"]
        environ["wsgi.input"] = BytesIO(body)  # all of it, however it came
        options = ",".join(headers.get_all("Connection", ())).lower()
        self.close_connection = self.request_version == "HTTP/1.0" or "close" in options
        return environ

    def _send_reply(self, reply: Reply) -> None:
        if (reply.delay and self._closed.wait(reply.delay)) or reply.disconnect:
            self.close_connection = True
            return
        if reply.declared_length is not None:
            self.close_connection = True
        headers, body = reply.content(self.command)
        if self.close_connection:
            headers.append(("Connection", "close"))
        self.request.sendall(head(status_line(reply.status), headers) + body)

    def _linger(self) -> None:
        """Let the client hang up first: closing over unread bytes would lose our response."""
        self.idle = True
        self.request.shutdown(SHUT_WR)
        self.request.settimeout(LINGER_SECONDS)
        for _ in range(LINGER_READS):
            if not self.request.recv(65_536):
                return


class _Query(NamedTuple):
    """A plain balance query: its key as it was sent, and its size in bytes."""

    key: str | None
    size: int


@lru_cache(maxsize=64)  # a client often sends the same bytes
def _read_plain_query(arrived: bytes) -> _Query | None:
    """Return the balance query if a whole, plain one has arrived; else None."""
    match = PLAIN_QUERY.match(arrived)
    headers = match and plain_fields(match[1])
    if match is None or headers is None or not NOT_PLAIN.isdisjoint(headers):
        return None
    if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    key = headers.get(b"x-api-key")
    sent = None if key is None else key.decode("latin-1")
    return _Query(sent, match.end())
