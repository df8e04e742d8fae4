"""The socket side of the API: one listening socket, one thread for every client at a time.

The `Listener` is a pytest-httpserver server, so tests add handlers to it as they know them. What
it serves first is our API, and it serves it its own way: pytest-httpserver closes the connection
after every response, keeps every request of the session, and takes half a second to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from selectors import EVENT_READ, BaseSelector, DefaultSelector
from socket import create_server, socketpair
from time import monotonic
from typing import Protocol, TypeAlias, cast

from pytest_httpserver import HTTPServer, HTTPServerError
from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException
from werkzeug.serving import LISTEN_QUEUE, BaseWSGIServer, ThreadedWSGIServer

from .connection import Connection
from .replies import Reply, plain, server_error

# How long `Listener.stop` waits for threads whose connections it closed, in real seconds.
JOIN_SECONDS = 2.0
# So many threads may wait for clients; one that would be more ends when its client is served.
IDLE_THREADS = 2


#: Answers a request by a handler of pytest-httpserver; returns None if none matches.
ByHandler: TypeAlias = "Callable[[Request], Response | None]"


class Api(Protocol):
    """The API without a socket. Called from many threads."""

    def balance(self, key: str | None, /) -> Reply:
        """Answer ``GET /v2/balance`` (§4.1), by the key as it was sent."""
        ...

    def answer(self, request: Request, by_handler: ByHandler, /) -> Response | Reply:
        """Answer any request, with a handler of pytest-httpserver where nothing of its own fits."""
        ...

    def answered(self, request: Request, status: int | None, body: bytes, /) -> None:
        """Take note of how a request is about to be answered, if it is.

        The body is that of a user's own response that is no success.
        """
        ...


class Unmatched(Exception):  # noqa: N818 - steers `Listener.answer`, never leaves it
    """No handler of pytest-httpserver matches."""


class Listener(HTTPServer):
    """Serves the API, and what a test adds to it, on a free port.

    Three things differ from pytest-httpserver. A request that no handler matches is answered by the
    API and is no failed assertion, unless an ordered handler was next. ``log`` holds only what
    reached a handler. And a response is sent whole: a stream is read to its end first.
    """

    port: int
    server: BaseWSGIServer | None

    def __init__(self, api: Api, host: str = "127.0.0.1") -> None:
        super().__init__(host, 0, threaded=True)
        self.api = api
        self.connections: dict[Connection, threading.Thread] = {}
        self._waiting: set[threading.Thread] = set()
        self._lock = threading.Lock()  # so that each thread is in one of the two, or ends

    def start(self) -> None:
        """Listen, and serve from threads of our own.

        Raises:
            HTTPServerError: The listener runs already.
            OSError: No port is free, or the one it had before a `stop` is taken.
        """
        if self.is_running():
            raise HTTPServerError("the listener runs already")
        app = Request.application(self.application)
        # With a socket of our own: werkzeug would end the whole run if the port were taken, and
        # ask the name service who 127.0.0.1 is.
        with create_server((self.host, self.port), backlog=LISTEN_QUEUE) as listening:
            self.server = server = ThreadedWSGIServer(
                self.host, self.port, app, handler=Connection, fd=listening.fileno()
            )
        self.port = server.port
        # For a client that another thread accepts, or that is gone.
        server.socket.setblocking(False)
        self._waker, self._woken = socketpair()
        self._waiting.clear()
        self._start_thread(server)

    def stop(self) -> None:
        """Stop listening and close every connection, in milliseconds.

        A thread that is still in a test's own handler gets two seconds to come back; its client
        is gone either way.

        Raises:
            HTTPServerError: The listener does not run.
        """
        with self._lock:
            server, self.server = self.server, None
            waiting, connections = list(self._waiting), list(self.connections.items())
        if server is None:
            raise HTTPServerError("the listener does not run")
        self._waker.close()
        for thread in waiting:
            thread.join()
        for connection, _ in connections:
            connection.close()
        deadline = monotonic() + JOIN_SECONDS
        for _, thread in connections:
            thread.join(max(0.0, deadline - monotonic()))
        self._woken.close()
        server.server_close()

    def _start_thread(self, server: BaseWSGIServer) -> None:
        thread = threading.Thread(
            target=self._serve_clients, args=(server,), name="chatfake-listener", daemon=True
        )
        self._waiting.add(thread)
        thread.start()

    def _serve_clients(self, server: BaseWSGIServer) -> None:
        """Accept a client and serve it, again and again, until the listener is stopped.

        Whoever accepts a client serves it, and lets another thread wait before. So no client waits
        for the one before it, and for a new thread only if there were never as many at a time.
        """
        with DefaultSelector() as selector:
            selector.register(server.socket, EVENT_READ)
            selector.register(self._woken, EVENT_READ)
            while connection := self._accept(server, selector):
                self._serve(connection)
                if not self._waits_again(connection):
                    return

    def _accept(self, server: BaseWSGIServer, selector: BaseSelector) -> Connection | None:
        """Return the next client's connection; None if the listener is stopped."""
        while all(key.fileobj is server.socket for key, _ in selector.select()):
            with suppress(OSError):
                client, address = server.socket.accept()
                connection = Connection(client, address, server, self)
                with self._lock:
                    self._waiting.remove(threading.current_thread())
                    if self.server is not server:
                        client.close()
                        break
                    self.connections[connection] = threading.current_thread()
                    if not self._waiting:
                        self._start_thread(server)
                return connection
        return None

    def _serve(self, connection: Connection) -> None:
        try:
            connection.serve()
        except BaseException as error:  # nobody looks into this thread
            self.record_error(error)
        finally:
            connection.server.shutdown_request(connection.request)

    def _waits_again(self, served: Connection) -> bool:
        """Whether the thread that has served a client waits for another one."""
        with self._lock:
            del self.connections[served]
            if self.server is not served.server or len(self._waiting) >= IDLE_THREADS:
                return False
            self._waiting.add(threading.current_thread())
            return True

    def close_idle_connections(self) -> None:
        """Close every connection that is open now as soon as it has nothing to answer."""
        for connection in list(self.connections):
            connection.retire()

    def balance(self, key: str | None, /) -> Reply:
        """Answer ``GET /v2/balance`` by the API."""
        try:
            return self.api.balance(key)
        except BaseException as error:
            self.record_error(error)
            return server_error(error)

    def answer(self, request: Request, /) -> Reply:
        """Answer a request: by the API, by a handler, or as not found.

        An error that leaves a handler is a 500 for the client, and is kept for the test as
        pytest-httpserver keeps it: ``check()`` raises it.
        """
        body = b""
        try:
            request.get_data()  # cached, so that matchers, handlers and the log all see it
            response = self._answer(request)
            reply = plain(response, request.environ)
            if reply is not response and reply.status >= 300:
                body = reply.body
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail() is no Exception
            self.record_error(error)
            reply = server_error(error)
        self.api.answered(request, None if reply.disconnect else reply.status, body)
        return reply

    def _answer(self, request: Request) -> Response | Reply:
        try:
            return self.api.answer(request, self._answer_by_handler)
        except HTTPException as error:
            return error.get_response(request.environ)

    def _answer_by_handler(self, request: Request) -> Response | None:
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
