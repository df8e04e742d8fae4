"""The API's socket: one listener, and one thread for each client.

The `Listener` is a pytest-httpserver server, so tests can add handlers in the usual way. Python's
``http.server`` and werkzeug read the requests. Two things are different: connections are kept alive
(werkzeug closes them after each response), and stopping takes 20 ms instead of 500.

There are no timeouts, because process time may stand still while we serve. A slow client only
occupies one thread, until `Listener.stop` ends it.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from socket import (
    AF_INET,
    MSG_PEEK,
    SHUT_RDWR,
    SO_LINGER,
    SOCK_STREAM,
    SOL_SOCKET,
    SocketIO,
    socket,
)
from socketserver import BaseServer, TCPServer
from ssl import SSLContext, SSLSocket
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from pytest_httpserver import HTTPServer, HTTPServerError
from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, HTTPException
from werkzeug.serving import (
    BaseWSGIServer,
    DechunkedInput,
    ThreadedWSGIServer,
    WSGIRequestHandler,
)

from .replies import Reply, has_hung_up, plain, server_error

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# How often a running listener checks whether it should stop, in real seconds.
POLL_SECONDS = 0.02

#: The first byte of a client that speaks TLS.
_TLS = b"\x16"

#: Lets a pytest-httpserver handler respond to a request; returns None if no handler matches.
ByHandler: TypeAlias = "Callable[[Request], Response | None]"


class Api(Protocol):
    """The API without a socket. Many threads call it."""

    def respond(self, request: Request, by_handler: ByHandler, /) -> Response | Reply:
        """Respond to a request; let pytest-httpserver handle requests that aren't the API's."""
        ...

    def responded(self, request: Request, status: int | None, body: bytes, /) -> None:
        """Note the response that is about to be sent.

        Args:
            request: The request.
            status: The HTTP status; None if the connection is closed without a response.
            body: The body, if one of the user's handlers has responded with 300 or more; else
                empty.
        """
        ...


class Unmatched(Exception):  # noqa: N818 - steers `Listener.respond`, never leaves it
    """No pytest-httpserver handler matches."""


class _Stream(SocketIO):
    """Raises a ConnectionAbortedError where a client hangs up.

    Otherwise, http.server would respond to half a request, and werkzeug would read a chunk for
    ever.
    """

    def readinto(self, b: WriteableBuffer) -> int:
        count = super().readinto(b)
        if not count:
            raise ConnectionAbortedError
        return count


class _Chunks(DechunkedInput):
    """A body in chunks, which may have extensions and trailers: werkzeug can't read these."""

    def read_chunk_len(self) -> int:
        found = re.match(rb"[0-9A-Fa-f]+", self._rfile.readline())
        if found is None:
            raise ConnectionAbortedError
        size = int(found[0], 16)
        reader = cast("BufferedReader", self._rfile)
        while not size and reader.peek(1)[:1] not in {b"\r", b"\n"}:
            reader.readline()  # a trailer
        return size


class _Connection(WSGIRequestHandler):
    """One client's connection, kept alive from request to request (HTTP/1.1)."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # with 0.9, an error would have no status line
    disable_nagle_algorithm = True
    wbufsize = -1  # sends a response in one piece

    # Without Date, because process time may stand still, and without logging.
    send_response = WSGIRequestHandler.send_response_only

    def setup(self) -> None:
        super().setup()
        self.rfile = self._reader = BufferedReader(_Stream(self.connection, "r"))

    def handle(self) -> None:
        """Serve a client until one side closes the connection."""
        server = cast("_Server", self.server)
        self._listener, self._stopped = server.listener, server.stopped
        self._is_idle, self._is_retired = True, False
        self.connection.settimeout(None)  # whatever socket.setdefaulttimeout() says
        self._listener.connections.add(self)
        if self._stopped.is_set():  # only now, so that `stop` doesn't miss a client
            self.close()
        if self.connection.recv(1, MSG_PEEK) == _TLS:
            if self._listener.context is None:
                return  # the client would wait for ever
            self._begin_tls(self._listener.context)
        super().handle()

    def _begin_tls(self, context: SSLContext) -> None:
        self.request = self.connection = context.wrap_socket(
            self.connection, server_side=True, do_handshake_on_connect=False
        )
        if self._stopped.is_set():  # only now, so that `stop` doesn't miss the new socket
            self.close()
        self.connection.do_handshake()
        self.setup()

    def finish(self) -> None:
        self._listener.connections.discard(self)
        try:
            super().finish()
        finally:
            if isinstance(self.connection, SSLSocket):  # the server only knows the plain socket
                self.connection.close()

    def close(self) -> None:
        """From another thread, end the connection."""
        with suppress(OSError):
            socket.shutdown(self.connection, SHUT_RDWR)  # below TLS, which the other thread uses

    def retire(self) -> None:
        """From another thread, end the connection, but finish the response that is under way."""
        self._is_retired = True
        if self._is_idle:
            self.close()

    def handle_one_request(self) -> None:
        self._is_idle = self.close_connection = True
        if self._is_retired:  # only now, so that a `retire` isn't missed
            return
        self._reader.peek(1)
        self._is_idle = False
        super().handle_one_request()

    def handle_expect_100(self) -> bool:
        super().handle_expect_100()
        self.wfile.flush()  # the client waits for it
        return True

    def run_wsgi(self) -> None:
        """Read a request to its end, so that the next one can begin, and respond."""
        environ = self.make_environ()
        if isinstance(self.connection, SSLSocket):
            environ["wsgi.url_scheme"] = "https"
        if "wsgi.input_terminated" in environ:
            environ["wsgi.input"] = _Chunks(self._reader)
        if self.requestline.split()[1].startswith("//"):  # http.server merges the slashes
            environ["PATH_INFO"] = "/" + environ["PATH_INFO"]
        request = Request(environ, populate_request=False)
        request.get_data()  # caches it for matchers, handlers and the log
        reply = self._listener.respond(request)
        if (reply.delay and self._stopped.wait(reply.delay)) or reply.disconnect:
            self.close_connection = True
            if reply.reset:
                self._reset()
            return
        if reply.delay and has_hung_up(self.connection):
            self._listener.api.responded(request, None, b"")
        headers, body = reply.content(self.command)
        self.send_response_only(reply.status)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection or self._is_retired or reply.declared_length is not None:
            self.send_header("Connection", "close")  # this makes http.server close it
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        # With this option, close() sends a reset. The socket is closed here, because the server
        # would end the connection properly first.
        self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the base class's
        """Log nothing."""


class _Server(ThreadedWSGIServer):
    """Serves each client in its own thread.

    The server outlives a test that mocks sockets, threads or files, so it takes none of them from
    where a mock would replace them.

    Attributes:
        stopped: Set once clients are no longer served.
    """

    allow_reuse_address = os.name == "posix"  # elsewhere, two servers could listen on one port
    allow_reuse_port = False  # the same, and some versions of Python allow it

    def __init__(self, listener: Listener) -> None:
        # Not werkzeug's own, which makes a socket and reads werkzeug's metadata from disk.
        BaseServer.__init__(self, (listener.host, listener.port), _Connection)
        self.socket = socket(AF_INET, SOCK_STREAM)
        try:
            TCPServer.server_bind(self)  # not http.server's, which looks up the host's name
            self.server_activate()
        except BaseException:
            self.server_close()
            raise
        self.socket.setblocking(False)  # a client may be gone before it is accepted
        self.host, self.port = self.socket.getsockname()
        self.ssl_context, self.passthrough_errors = None, False
        self._server_version = "Werkzeug"
        self.listener = listener
        self.stopped = Event()

    def get_request(self) -> tuple[socket, Any]:
        """Accept a client, as a real socket: ``accept()`` would make a mock of it."""
        descriptor, address = cast("Any", self.socket)._accept()
        return socket(fileno=descriptor), address

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client in its own thread."""
        Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name="chatfake-listener-client",
            daemon=True,
        ).start()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a client, and keep errors for the test."""
        try:
            super().finish_request(request, client_address)
        except (OSError, ClientDisconnected):
            pass  # the client hung up
        except BaseException as error:
            self.listener.record_error(error)


class Listener(HTTPServer):
    """Serves the API, and the handlers that a test adds, on a free port.

    Clients may also speak TLS on the same port, once there is a ``context`` for it.

    Three things differ from pytest-httpserver. A request that matches no handler goes to the API,
    and isn't a failed assertion unless an ordered handler was next. ``log`` only has the requests
    that reached a handler. And a streamed response is read to its end before it is sent.
    """

    port: int
    server: BaseWSGIServer | None

    def __init__(self, api: Api, host: str = "127.0.0.1") -> None:
        super().__init__(host, 0, threaded=True)
        self.api = api
        self.context: SSLContext | None = None
        self.connections: set[_Connection] = set()

    def is_running(self) -> bool:
        """Return whether a thread serves; a test may have kept it from starting."""
        return self.server_thread is not None and self.server_thread.is_alive()

    def start(self) -> None:
        """Listen, and serve from our own threads.

        Raises:
            HTTPServerError: The listener is already running.
            OSError: No port is free, or the port from before a `stop` is taken.
        """
        if self.is_running():
            raise HTTPServerError("the listener is already running")
        if self.server is not None:
            self.server.server_close()
        server = _Server(self)
        thread = Thread(
            target=server.serve_forever,
            args=(POLL_SECONDS,),
            name="chatfake-listener",
            daemon=True,
        )
        try:
            thread.start()
        except BaseException:
            server.server_close()
            raise
        self.server, self.port = server, server.port
        self.server_thread: Thread | None = thread

    def stop(self) -> None:
        """Stop listening and close every connection; delayed responses are not sent.

        Raises:
            HTTPServerError: The listener is not running.
        """
        if self.server is None:
            raise HTTPServerError("the listener is not running")
        cast("_Server", self.server).stopped.set()
        super().stop()
        for connection in list(self.connections):
            connection.close()

    def leave_to_parent(self) -> None:
        """In a forked child, leave the server and its clients to the parent, but keep handlers."""
        if self.server is not None:
            self.server.server_close()  # this process's end only
        self.server = self.server_thread = None
        self.port = 0
        self.connections.clear()

    def close_idle_connections(self) -> None:
        """Close every open connection, but finish responses that are being written."""
        for connection in list(self.connections):
            connection.retire()

    def respond(self, request: Request, /) -> Reply:
        """Respond to a request: by the API, by a handler, or with a 404.

        If a handler raises, the client gets a 500, and the test gets the error as usual with
        pytest-httpserver: ``check()`` raises it.
        """
        body = b""
        try:
            response = self._respond(request)
            reply = plain(response, request.environ)
            if reply is not response and reply.status >= 300:
                body = reply.body
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail() doesn't raise an Exception
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
        """Fail if an ordered handler was next; otherwise, leave the request to the API."""
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
