"""Attempts at an ASGI app, without a socket.

The fake speaks ASGI 3.0, as uvicorn does. Everything runs on the loop that awaits it, asyncio's or
trio's. If an app breaks the protocol, ``RuntimeError`` is raised; an app's own exception is raised
unchanged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from ...base.arguments import cited, unexpected
from ...base.errors import ChatFakeError
from ...base.tracebacks import NO_LIFESPAN
from .cancellable import Cancellable, CancelledExternally
from .django_bridge import connections_kept, is_asgi_handler, run_bridged
from .headers import Headers, complete_headers
from .loops import LoopEvent, new_event
from .portal import Portal
from .responses import OutgoingRequest, Response
from .targets import Target
from .url import checked_client, checked_path
from .wrapped_apps import Way, apps_inside

#: The beginning of errors that an app raises because its lifespan has not run.
_WITHOUT_STATE = ("'State' object has no attribute", "'state'")

_NOT_STARTED: Final = (
    "restart= returned an app whose lifespan isn't running, although that of the stopped app is: "
    "make the new app before the crash, and enter chat_fake.webhooks.lifespan(new_app) as well"
)

# Any, because each framework has its own types for scopes and messages.
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class AsgiTarget(Target):
    """An ASGI app, awaited on the test's own loop or run on the portal's.

    In plain code, a Django app goes through asgiref's bridge instead, so that its views and its ORM
    run in the test's thread and see the test's transaction.
    """

    on_loop = True

    def __init__(
        self,
        app: AsgiApp,
        *,
        path: str,
        portal: Portal,
        client: tuple[str, int] | None = None,
    ) -> None:
        self._app = app
        self._portal = portal
        self._awaited = Cancellable()
        self._exchange: _Exchange | None = None
        self._scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "root_path": "",
            "client": checked_client(client),
            "server": ("testserver", 80),
        }
        self.go_to(checked_path(path))

    def go_to(self, path: str) -> None:
        raw_path, _, query = path.partition("?")
        self._scope["path"] = unquote(raw_path)
        self._scope["raw_path"] = raw_path.encode("ascii")
        self._scope["query_string"] = query.encode("ascii")

    def replace(self, app: AsgiApp) -> None:
        """Call another app, whose lifespan has to be running if that of the stopped app is.

        Each may be inside a wrapper, but is only compared if it is at the same place.

        Raises:
            ChatFakeError: It is not: the app would fail for what its start-up should have made.
        """
        before, after = self._started(self._app), self._started(app)
        if before is not None and after is None:
            way, old = before
            if type(dict(apps_inside(app)).get(way)) is type(old):
                raise ChatFakeError(_NOT_STARTED)
        super().replace(app)

    def clone(self) -> AsgiTarget:
        clone = copy(self)
        clone._scope = self._scope.copy()
        clone._awaited = Cancellable()
        return clone

    def attempt(self, request: OutgoingRequest) -> Response:
        """Run the app to the end of its background work."""
        if not is_asgi_handler(self._app):
            return self._portal.run(self.attempt_async(request))
        with connections_kept():
            return run_bridged(self.attempt_async, request)

    async def attempt_async(self, request: OutgoingRequest) -> Response:
        """Await the app to the end of its background work."""
        scope = self._scope.copy()
        # A new dict each time, because middleware changes it.
        scope["asgi"] = {"version": "3.0", "spec_version": "2.3"}
        length = (b"content-length", b"%d" % len(request.body))
        scope["headers"] = [*_encode(tuple(request.headers.items())), length]
        started = self._started(self._app)
        state = None if started is None else self._portal.app_states[id(started[1])]
        if state is not None:  # its lifespan is running; each request gets a shallow copy
            scope["state"] = state.copy()
        exchange = self._exchange = _Exchange(request.body)
        try:
            app = self._app(scope, exchange.receive, exchange.send)
            await self._awaited.run_app(request, app)
        except (AttributeError, KeyError) as error:
            if state is None and str(error).startswith(_WITHOUT_STATE):
                error.add_note(NO_LIFESPAN)
            raise
        except CancelledExternally as late:
            if not exchange.is_complete:
                return Response(None, b"", late.why)
        finally:
            exchange.disconnect()
            self._exchange = None
        return exchange.response()

    def _started(self, app: AsgiApp) -> tuple[Way, Any] | None:
        # The app whose lifespan is running: this one, or one inside it.
        states = self._portal.app_states
        if not states:
            return None
        return next(((way, each) for way, each in apps_inside(app) if id(each) in states), None)

    def response_so_far(self) -> Response | None:
        """Return the response if it is complete, even if background work is still running."""
        exchange = self._exchange
        return exchange.response() if exchange is not None and exchange.is_complete else None

    def disconnect(self, request: object) -> bool:
        """Send ``http.disconnect`` to the app."""
        exchange = self._exchange
        return exchange is not None and self._awaited.call_soon(request, exchange.disconnect)

    def cancel(self, request: object, why: Exception) -> bool:
        """Cancel the request, but not the app's lifespan."""
        return self._awaited.cancel(request, why)


@lru_cache(maxsize=128)  # unsigned requests of an endpoint have the same headers
def _encode(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    return tuple(
        (name.lower().encode("ascii"), value.encode("latin-1"))
        for name, value in complete_headers(headers, "testserver")
    )


class _Exchange:
    """One request and its response, as ASGI messages."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status: int | None = None
        self._parts: list[bytes] = []
        self.is_complete = False
        self._is_gone = False  # whether the client is gone, with or without its response
        self._disconnected: LoopEvent | None = None  # made once the app waits for it

    async def receive(self) -> dict[str, Any]:
        """Return the body once; after that, wait until the client is gone."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._is_gone:
            if self._disconnected is None:
                self._disconnected = new_event()
            await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        if self.is_complete:
            raise RuntimeError(f"ASGI app: sent {cited(kind)} after its response was complete")
        expected = f"http.response.{'start' if self._status is None else 'body'}"
        if kind != expected:
            raise RuntimeError(unexpected("ASGI app", repr(expected), kind))
        if self._status is None:
            self._status = int(message["status"])
            return
        part = message.get("body", b"")
        if not isinstance(part, bytes):
            # Servers accept other buffers as well. Copied, because the app may reuse the buffer.
            part = memoryview(part).tobytes()
        self._parts.append(part)
        if not message.get("more_body", False):
            self.is_complete = True
            self.disconnect()

    def disconnect(self) -> None:
        self._is_gone = True
        if self._disconnected is not None:
            self._disconnected.set()

    def response(self) -> Response:
        if not self.is_complete:
            raise RuntimeError("ASGI app: it returned before its response was complete")
        return Response(self._status, b"".join(self._parts))
