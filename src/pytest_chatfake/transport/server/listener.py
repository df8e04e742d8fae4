"""The socket side of the API: one listening socket, one thread for each client.

The `Listener` is a pytest-httpserver server, so tests add handlers to it as they know them. The
requests are read by Python's ``http.server`` and werkzeug. Two things differ from theirs:
connections are kept alive (werkzeug closes after each response), and a stop takes 20 ms, not 500.

No timeout and no wall clock: process time may stand still while we serve. A client may be as slow
as it likes: it holds one thread, and `Listener.stop` ends it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from email.errors import (
    InvalidHeaderDefect,
    MisplacedEnvelopeHeaderDefect,
    MissingHeaderBodySeparatorDefect,
)
from io import BufferedReader, RawIOBase
from socket import SHUT_RDWR, create_server
from typing import Any, Protocol, TypeAlias, cast

from pytest_httpserver import HTTPServer, HTTPServerError
from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, HTTPException
from werkzeug.serving import (
    LISTEN_QUEUE,
    BaseWSGIServer,
    DechunkedInput,
    ThreadedWSGIServer,
    WSGIRequestHandler,
)

from .replies import Reply, plain, server_error

# How often a running listener looks whether it is to stop, in real seconds.
POLL_SECONDS = 0.02

# What http.server only notes: the headers after such a line are lost.
MALFORMED = (
    InvalidHeaderDefect,
    MisplacedEnvelopeHeaderDefect,
    MissingHeaderBodySeparatorDefect,
)

#: What no line has: a CR that does not end it, a NUL, or a space at its begin, which continues the
#: header before. Each reader makes something else of these.
_STRAY = re.compile(rb"\r(?!\n)|\0|\A[ \t]")

#: Before a chunk; ``int()`` would take ``0x5``, ``0_5`` and ``+5``, too.
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(;.*)?\r?\n")

#: Responds to a request by a handler of pytest-httpserver; returns None if none matches.
ByHandler: TypeAlias = "Callable[[Request], Response | None]"


class Api(Protocol):
    """The API without a socket. Called from many threads."""

    def respond(self, request: Request, by_handler: ByHandler, /) -> Response | Reply:
        """Respond to a request: by a handler of pytest-httpserver where nothing of its own fits."""
        ...

    def responded(self, request: Request, status: int | None, body: bytes, /) -> None:
        """Note the response that is about to leave; a status of None: there is none.

        The body is that of a user's own response that is no success.
        """
        ...


class Unmatched(Exception):  # noqa: N818 - steers `Listener.respond`, never leaves it
    """No handler of pytest-httpserver matches."""


class _Malformed(Exception):  # noqa: N818 - steers `_Connection`, never leaves it
    """It is not certain where the request ends: 400."""


class _Reader(BufferedReader):
    """Raises a ConnectionAbortedError where a client hangs up in the middle of a line or a chunk.

    http.server would respond to half a request; werkzeug would read a chunk for ever.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise ConnectionAbortedError
        return data

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if size is not None and len(line) < size and not line.endswith(b"\n"):
            raise ConnectionAbortedError
        if _STRAY.search(line):
            raise _Malformed
        return line


class _Chunks(DechunkedInput):
    """A body that comes in chunks."""

    def read_chunk_len(self) -> int:
        size = _CHUNK_SIZE.fullmatch(self._rfile.readline(100))
        if size is None:
            raise _Malformed
        return int(size[1], 16)


class _Connection(WSGIRequestHandler):
    """One client's connection, kept alive from request to request (HTTP/1.1)."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # 0.9 has no status line: an error would be a bare body
    disable_nagle_algorithm = True
    rbufsize = 0  # `_Reader` buffers
    wbufsize = -1  # so that a response leaves in one piece

    # Without `Date`, as process time may stand still, and without a line in a log.
    send_response = WSGIRequestHandler.send_response_only

    def setup(self) -> None:
        server = cast("_Server", self.server)
        self._listener, self._stopped = server.listener, server.stopped
        self._is_idle, self._is_retired = True, False
        self.request.settimeout(None)  # whatever the test set as the default for its sockets
        super().setup()
        self.rfile = self._reader = _Reader(cast("RawIOBase", self.rfile))
        self._listener.connections.add(self)
        if self._stopped.is_set():  # asked in this order, `stop` misses no client
            self.close()

    def finish(self) -> None:
        self._listener.connections.discard(self)
        super().finish()

    def close(self) -> None:
        """End the connection from another thread."""
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)

    def retire(self) -> None:
        """End the connection from another thread as soon as no response is being written."""
        self._is_retired = True
        if self._is_idle:
            self.close()

    def handle_one_request(self) -> None:
        self._is_idle = True
        self.close_connection = True
        if self._is_retired:  # asked in this order, no `retire` is missed
            return
        begin = self._reader.peek(1)[:1]
        self._is_idle = False
        if begin not in (b"", b"\x16"):  # hung up, or TLS, whose client would wait for us
            try:
                super().handle_one_request()
            except _Malformed:
                self.command = self.requestline = ""  # there may be none yet
                self.request_version = self.protocol_version
                self._refuse(400)

    def _refuse(self, status: int) -> None:
        self.send_error(status)
        self.wfile.flush()
        self.close_connection = True

    def handle_expect_100(self) -> bool:
        return True  # `run_wsgi` continues, once it knows where the body ends

    def run_wsgi(self) -> None:
        """Read a request to its end, so that the next one begins there, and respond."""
        try:
            environ = self.make_environ()
        except ValueError:  # the target is not a URL
            environ = None
        if environ is None or not self._has_certain_end():
            self._refuse(400)
            return
        if not self._continues():
            self._refuse(417)
            return
        if "wsgi.input_terminated" in environ:
            environ["wsgi.input"] = _Chunks(self._reader)
        if self.requestline.split()[1].startswith("//"):  # http.server makes one slash of them
            environ["PATH_INFO"] = "/" + environ["PATH_INFO"]
        request = Request(environ, populate_request=False)
        try:
            request.get_data()  # cached, so that matchers, handlers and the log all see it
        except ConnectionError:
            raise
        except OSError as error:  # of werkzeug: a chunk is longer than it says
            raise _Malformed from error
        reply = self._listener.respond(request)
        if (reply.delay and self._stopped.wait(reply.delay)) or reply.disconnect:
            self.close_connection = True
            return
        headers, body = reply.content(self.command)
        self.send_response_only(reply.status)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection or self._is_retired or reply.declared_length is not None:
            self.send_header("Connection", "close")  # this makes http.server close it
        self.end_headers()
        self.wfile.write(body)

    def _has_certain_end(self) -> bool:
        """Return whether it is certain where the request's headers and its body end."""
        headers = self.headers
        if (
            any(isinstance(defect, MALFORMED) for defect in headers.defects)
            or headers.get_unixfrom()
        ):
            return False
        lengths, codings = headers.get_all("Content-Length"), headers.get_all("Transfer-Encoding")
        if codings:
            is_chunked = [coding.strip(" \t").lower() for coding in codings] == ["chunked"]
            return is_chunked and not lengths and self.request_version != "HTTP/1.0"
        return not lengths or (
            len(lengths) == 1 and bool(re.fullmatch("[0-9]{1,18}", lengths[0].strip(" \t")))
        )

    def _continues(self) -> bool:
        """Tell a client that waits with its body to go on; return whether it expects no more."""
        expected = self.headers.get_all("Expect", [])
        if not expected or self.request_version == "HTTP/1.0":
            return True
        if [text.strip(" \t").lower() for text in expected] != ["100-continue"]:
            return False
        self.send_response_only(100)
        self.end_headers()
        self.wfile.flush()
        return True

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the base class's
        """Log nothing."""


class _Server(ThreadedWSGIServer):
    """Hands each client to a thread of its own.

    Attributes:
        stopped: Set when no client is served any more.
    """

    def __init__(self, listener: Listener, fd: int) -> None:
        app = Request.application(listener.application)
        super().__init__(listener.host, listener.port, app, handler=_Connection, fd=fd)
        self.socket.setblocking(False)  # for a client that is gone before it is accepted
        self.listener = listener
        self.stopped = threading.Event()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a client, in its own thread, where nobody would see an error."""
        threading.current_thread().name = "chatfake-listener-client"
        try:
            super().finish_request(request, client_address)
        except (OSError, ClientDisconnected):
            pass  # the client hung up
        except BaseException as error:
            self.listener.record_error(error)


class Listener(HTTPServer):
    """Serves the API, and what a test adds to it, on a free port.

    Three things differ from pytest-httpserver. The API responds to a request that no handler
    matches, which is no failed assertion, unless an ordered handler was next. ``log`` holds only
    what reached a handler. And a response is sent whole: a stream is read to its end first.
    """

    port: int
    server: BaseWSGIServer | None

    def __init__(self, api: Api, host: str = "127.0.0.1") -> None:
        super().__init__(host, 0, threaded=True)
        self.api = api
        self.connections: set[_Connection] = set()

    def start(self) -> None:
        """Listen, and serve from threads of our own.

        Raises:
            HTTPServerError: The listener runs already.
            OSError: No port is free, or the one it had before a `stop` is taken.
        """
        if self.is_running():
            raise HTTPServerError("the listener runs already")
        # With a socket of our own: werkzeug would end the whole run if the port were taken.
        with create_server((self.host, self.port), backlog=LISTEN_QUEUE) as listening:
            self.server = server = _Server(self, listening.fileno())
        self.port = server.port
        thread = threading.Thread(
            target=server.serve_forever,
            args=(POLL_SECONDS,),
            name="chatfake-listener",
            daemon=True,
        )
        self.server_thread: threading.Thread | None = thread
        thread.start()

    def stop(self) -> None:
        """Stop listening and close every connection; a delayed response is cut short.

        Raises:
            HTTPServerError: The listener does not run.
        """
        if self.server is None:
            raise HTTPServerError("the listener does not run")
        cast("_Server", self.server).stopped.set()
        super().stop()
        for connection in list(self.connections):
            connection.close()

    def close_idle_connections(self) -> None:
        """Close every connection that is open now as soon as it has no response to write."""
        for connection in list(self.connections):
            connection.retire()

    def respond(self, request: Request, /) -> Reply:
        """Respond to a request: by the API, by a handler, or with a 404.

        An error that leaves a handler is a 500 for the client, and is kept for the test as
        pytest-httpserver keeps it: ``check()`` raises it.
        """
        body = b""
        try:
            response = self._respond(request)
            reply = plain(response, request.environ)
            if reply is not response and reply.status >= 300:
                body = reply.body
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail() is no Exception
            self.record_error(error)
            reply = server_error(error)
        self.api.responded(request, None if reply.disconnect else reply.status, body)
        return reply

    def _respond(self, request: Request) -> Response | Reply:
        try:
            return self.api.respond(request, self._respond_by_handler)
        except HTTPException as error:
            return error.get_response(request.environ)

    def _respond_by_handler(self, request: Request) -> Response | None:
        try:
            response = self.dispatch(request)
        except Unmatched:
            return None
        self.log.append((request, response))
        return response

    def respond_nohandler(self, request: Request, extra_message: str = "") -> Response:
        """Fail an ordered handler that was next; else leave the request to the API."""
        if self.permanently_failed:
            return super().respond_nohandler(request, extra_message)
        raise Unmatched

    def record_error(self, error: BaseException, /) -> None:
        """Keep an error for ``check()``, unless pytest-httpserver has kept it already."""
        kept: list[object] = [*self.assertions, *self.handler_errors]
        if any(error is other for other in kept):
            return
        if isinstance(error, AssertionError):
            self.add_assertion(error)
        else:
            self.handler_errors.append(cast("Exception", error))
