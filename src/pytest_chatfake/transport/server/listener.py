"""The socket side of the API: one listening socket, one thread for every client.

The `Listener` is a pytest-httpserver server, so tests add handlers to it as they know them. What
it serves first is our API, and it serves it its own way: pytest-httpserver closes the connection
after every answer, keeps every request of the session, and takes half a second to stop.
"""

from __future__ import annotations

from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from socket import create_server, socket, socketpair
from threading import Thread
from time import monotonic
from typing import Protocol, cast

from pytest_httpserver import HTTPServer, HTTPServerError
from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException
from werkzeug.serving import LISTEN_QUEUE, BaseWSGIServer, ThreadedWSGIServer

from .connection import Connection
from .replies import Reply, server_error, to_response

# How long `Listener.stop` waits for threads whose connections it closed, in real seconds.
JOIN_SECONDS = 2.0


class Api(Protocol):
    """The API without a socket. Called from many threads."""

    def balance(self, key: str | None, target: str, /) -> Reply:
        """Answer ``GET /v2/balance`` (§4.1), by the key and the target as they were sent."""
        ...

    def dispatch(self, request: Request, /) -> Response | Reply | None:
        """Answer any request; None leaves it to the handlers of pytest-httpserver."""
        ...

    def not_found(self, request: Request, /) -> Response | Reply:
        """Answer a request that no handler matched either."""
        ...

    def answered(self, request: Request, status: int, /) -> None:
        """Take note of the status that a request is about to be answered with."""
        ...


class Unmatched(Exception):  # noqa: N818 - steers `Listener.answer`, never leaves it
    """No handler of pytest-httpserver matches."""


class Listener(HTTPServer):
    """Serves the API, and what a test adds to it, on a free port of 127.0.0.1.

    Two things differ from pytest-httpserver. A request that no handler matches is answered by the
    API and is no failed assertion, unless an ordered handler was next. And ``log`` holds only what
    reached a handler.
    """

    port: int
    server: BaseWSGIServer | None

    def __init__(self, api: Api) -> None:
        super().__init__("127.0.0.1", 0, threaded=True)
        self.api = api
        self.connections: dict[Connection, Thread] = {}

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
            self.server = ThreadedWSGIServer(
                self.host, self.port, app, handler=Connection, fd=listening.fileno()
            )
        self.port = self.server.port
        self._waker, woken = socketpair()
        self.server_thread = Thread(
            target=self._accept, args=(self.server, woken), name="chatfake-listener", daemon=True
        )
        self.server_thread.start()

    def stop(self) -> None:
        """Stop listening and close every connection, in milliseconds.

        A thread that is still in a test's own handler gets two seconds to come back; its client
        is gone either way.

        Raises:
            HTTPServerError: The listener does not run.
        """
        thread, self.server, self.server_thread = self.server_thread, None, None
        if thread is None:
            raise HTTPServerError("the listener does not run")
        self._waker.close()
        thread.join()
        connections = list(self.connections.items())
        for connection, _ in connections:
            connection.close()
        deadline = monotonic() + JOIN_SECONDS
        for _, serving in connections:
            serving.join(max(0.0, deadline - monotonic()))

    def _accept(self, server: BaseWSGIServer, woken: socket) -> None:
        """Accept clients, each into a thread of its own, until our end of ``woken`` is closed."""
        server.socket.setblocking(False)  # for a client that is gone before it is accepted
        with server, woken, DefaultSelector() as selector:
            selector.register(server.socket, EVENT_READ)
            selector.register(woken, EVENT_READ)
            while all(key.fileobj is server.socket for key, _ in selector.select()):
                with suppress(OSError):
                    connection = Connection(*server.socket.accept(), server, self)
                    thread = Thread(
                        target=self._serve,
                        args=(connection,),
                        name="chatfake-connection",
                        daemon=True,
                    )
                    self.connections[connection] = thread
                    thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            connection.serve()
        except BaseException as error:  # nobody looks into this thread
            self.record_error(error)
        finally:
            connection.server.shutdown_request(connection.request)
            del self.connections[connection]

    def close_idle_connections(self) -> None:
        """Close every connection that is open now as soon as it has nothing to answer."""
        for connection in list(self.connections):
            connection.retire()

    def balance(self, key: str | None, target: str, /) -> Reply:
        """Answer ``GET /v2/balance`` by the API."""
        try:
            return self.api.balance(key, target)
        except BaseException as error:
            self.record_error(error)
            return server_error(error)

    def answer(self, request: Request, /) -> Response | Reply:
        """Answer a request: by the API, by a handler, or as not found.

        An error that leaves a handler is a 500 for the client, and is kept for the test as
        pytest-httpserver keeps it: ``check()`` raises it.
        """
        answer = self._answer(request)
        status = answer.status if isinstance(answer, Reply) else answer.status_code
        self.api.answered(request, status)
        return answer

    def _answer(self, request: Request) -> Response | Reply:
        try:
            request.get_data()  # cached, so that matchers, handlers and the log all see it
            answer = self.api.dispatch(request)
            return self._answer_by_handler(request) if answer is None else answer
        except HTTPException as error:
            return error.get_response(request.environ)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail() is no Exception
            self.record_error(error)
            return server_error(error)

    def _answer_by_handler(self, request: Request) -> Response | Reply:
        try:
            response = self.dispatch(request)
        except Unmatched:
            return self.api.not_found(request)
        self.log.append((request, response))
        return response

    def application(self, request: Request) -> Response:
        """Answer without a socket; the log is `answer`'s, and not every request's."""
        answer = self.answer(request)
        return to_response(answer) if isinstance(answer, Reply) else answer

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
