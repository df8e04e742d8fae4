"""Attempts at a WSGI app, without a socket: the server's side of PEP 3333.

An app's exception is raised unchanged.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from copy import copy
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from .django_bridge import connections_kept
from .headers import Headers, complete_headers
from .responses import OutgoingRequest, Response
from .targets import Target
from .url import checked_client, checked_path
from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from _typeshed import OptExcInfo
    from _typeshed.wsgi import WSGIApplication


#: A function that calls an app in place of the target: it takes the target's function and that
#: one's arguments. None: no such function.
around_call: ContextVar[Callable[..., Any] | None] = ContextVar(
    "pytest_chatfake_around_call", default=None
)


class WsgiTarget(Target):
    """A WSGI app: plain code calls it in the test's thread, a coroutine in a worker thread."""

    threaded = True

    def __init__(
        self, app: WSGIApplication, *, path: str, client: tuple[str, int] | None = None
    ) -> None:
        address, port = checked_client(client)
        self._app = app
        self._worker = Worker("chatfake-wsgi")
        self._environ: dict[str, Any] = {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": address,
            "REMOTE_PORT": str(port),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            # As with most servers, the app can read to the end without counting bytes.
            "wsgi.input_terminated": True,
        }
        self._sent: Response | None = None  # before the app closes what it has returned
        self.go_to(checked_path(path))

    def go_to(self, path: str) -> None:
        raw_path, _, query = path.partition("?")
        # PEP 3333: bytes are decoded as Latin-1, whatever their encoding.
        info = unquote_to_bytes(raw_path).decode("latin-1")
        self._environ = {**self._environ, "PATH_INFO": info, "QUERY_STRING": query}

    def clone(self) -> WsgiTarget:
        """Return a target with its own thread, and with ``wsgi.multithread`` set."""
        clone = copy(self)
        clone._worker = Worker("chatfake-wsgi")
        clone._environ = {**self._environ, "wsgi.multithread": True}
        return clone

    def attempt(self, request: OutgoingRequest) -> Response:
        with connections_kept():
            return self._call(request)

    async def attempt_async(self, request: OutgoingRequest) -> Response:
        """Call the app in a thread, because it may block."""
        return await self._worker.call_async(self._call, request)

    def response_so_far(self) -> Response | None:
        """Return the response once a server would have sent it, even if `close()` goes on."""
        return self._sent

    def close(self) -> None:
        self._worker.close()

    def _call(self, request: OutgoingRequest) -> Response:
        attended = around_call.get()
        return self._called(request) if attended is None else attended(self._called, request)

    def _called(self, request: OutgoingRequest) -> Response:
        environ = {**self._environ, **_variables(tuple(request.headers.items()))}
        environ["CONTENT_LENGTH"] = str(len(request.body))
        environ["wsgi.input"] = BytesIO(request.body)
        environ["wsgi.errors"] = errors = _Errors()
        started: list[str] = []
        body: list[bytes] = []

        def start_response(
            status: str, _: object, exc_info: OptExcInfo | None = None, /
        ) -> Callable[[bytes], object]:
            try:
                if exc_info and exc_info[1] is not None and any(body):
                    raise exc_info[1]  # a server would have sent the headers by now
            finally:
                exc_info = None  # breaks the cycle with this frame, as PEP 3333 asks
            started.append(status)
            return body.append

        try:
            parts = self._app(environ, start_response)
            try:
                body.extend(parts)  # one by one: the app may call `start_response` in between
                if not started:
                    raise RuntimeError("WSGI app: it returned without calling start_response")
                self._sent = sent = Response(int(started[-1].split()[0]), b"".join(body))
            finally:
                if hasattr(parts, "close"):
                    parts.close()
        finally:
            self._sent = None
            self.printed: str = "".join(errors.parts)
        return sent


@lru_cache(maxsize=128)  # unsigned requests of an endpoint have the same headers
def _variables(headers: Headers) -> Mapping[str, str]:
    variables: dict[str, str] = {}
    for name, value in complete_headers(headers, "testserver"):
        key = name.upper().replace("-", "_")
        if key != "CONTENT_TYPE":  # which has no prefix in CGI
            key = f"HTTP_{key}"
        # Repeated headers become one, with commas.
        variables[key] = f"{variables[key]},{value}" if key in variables else value
    return variables


class _Errors:
    """Standard error, which also keeps what is written to it."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
