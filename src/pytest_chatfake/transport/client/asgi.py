"""Attempts into an ASGI app, without a socket, and the app's lifespan.

The messages are those of the ASGI specification 3.0, as uvicorn sends and accepts them. Everything
runs in the loop of whoever awaits it, asyncio's or trio's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from ...webhooks.requests import Answer
from .headers import complete_headers
from .loops import Companion, new_event

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ...engine.settings import Mode
    from .headers import Headers
    from .loops import LoopEvent
    from .portal import Portal

__all__ = ["AsgiApp", "AsgiDriver", "Lifespan"]

# Frameworks annotate scope and messages in ways that do not fit each other.
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class AsgiDriver:
    """Posts into one ASGI app at one path.

    Args:
        app: The application.
        path: The path as a URL has it, quoted, with an optional query string.
    """

    def __init__(self, app: AsgiApp, path: str) -> None:
        self._app = app
        raw_path, _, query = path.partition("?")
        self._scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": unquote(raw_path),
            "raw_path": raw_path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "client": ("127.0.0.1", 50000),
            "server": ("testserver", 80),
        }

    async def post(
        self, body: bytes, headers: Mapping[str, str], state: Mapping[str, Any] | None = None
    ) -> Answer:
        """Await the app with one request, to the end of its background work; return its answer.

        Args:
            body: The whole body; the app receives it in one message.
            headers: The attempt's headers.
            state: What the app's lifespan gave, if it runs; each request gets a shallow copy.

        Raises:
            BaseException: Whatever leaves the app, with its traceback.
            RuntimeError: The app breaks the protocol.
            TypeError: A part of its body has no bytes.
            ValueError: A header is not allowed.
        """
        scope = self._scope.copy()
        # In a dict of its own: middleware writes into it.
        scope["asgi"] = {"version": "3.0", "spec_version": "2.3"}
        scope["headers"] = [
            *_encoded(tuple(headers.items())),
            (b"content-length", b"%d" % len(body)),
        ]
        if state is not None:
            scope["state"] = dict(state)
        exchange = _Exchange(body)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            exchange.disconnect()
        return exchange.answer()


@lru_cache(maxsize=128)
def _encoded(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    return tuple(
        (name.lower().encode("ascii"), value.encode("latin-1"))
        for name, value in complete_headers(headers, "testserver")
    )


class _Exchange:
    """One request and its answer, as messages."""

    __slots__ = ("_body", "_complete", "_disconnected", "_over", "_parts", "_status")

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status: int | None = None
        self._parts: list[bytes] = []
        self._complete = False
        # No client is there any more; the event is made for those who wait for that.
        self._over = False
        self._disconnected: LoopEvent | None = None

    async def receive(self) -> dict[str, Any]:
        """Give the body once; after that, wait until the client has its answer and goes."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._over:
            if self._disconnected is None:
                self._disconnected = new_event()
            await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Take the next part of the answer."""
        kind = message["type"]
        if self._complete:
            raise RuntimeError(f"the ASGI app sent {kind!r} after its answer was complete")
        if self._status is None:
            if kind != "http.response.start":
                raise RuntimeError(f"the ASGI app sent {kind!r} before 'http.response.start'")
            self._status = int(message["status"])
        else:
            if kind != "http.response.body":
                raise RuntimeError(f"the ASGI app sent {kind!r} where 'http.response.body' belongs")
            part = message.get("body", b"")
            if not isinstance(part, bytes):
                # Servers take other buffers too; a copy, for the app may fill them anew.
                part = memoryview(part).tobytes()
            self._parts.append(part)
            if not message.get("more_body", False):
                self._complete = True
                self.disconnect()

    def disconnect(self) -> None:
        """Let the client go, and tell all who wait for it."""
        self._over = True
        if self._disconnected is not None:
            self._disconnected.set()

    def answer(self) -> Answer:
        """Return the whole answer, once the app has returned."""
        if self._status is None:
            raise RuntimeError("the ASGI app returned without an answer")
        if not self._complete:
            raise RuntimeError("the ASGI app returned before its answer was complete")
        return Answer(self._status, b"".join(self._parts))


class Lifespan:
    """An app's lifespan: its startup at the beginning of a ``with`` block, its shutdown at the end.

    With ``async with`` it runs in the loop that runs there; with ``with``, in the portal's.
    Meanwhile the app's requests get its ``state``. An app that knows no lifespan (it raises on the
    scope, or returns) is left alone.

    Args:
        app: The ASGI app.
        portal: Where it runs in plain code, and where `AsgiTarget` finds the state.
        check: Called before the block is entered, with the mode that it is written for, how it is
            written, and how it would be in the other mode; it may refuse.

    Raises:
        BaseException: What left the app in its startup or shutdown, with its traceback.
        RuntimeError: The app said that its startup or shutdown failed, or it breaks the protocol,
            or its lifespan runs already.
    """

    def __init__(
        self, app: AsgiApp, *, portal: Portal, check: Callable[[Mode, str, str], None] | None = None
    ) -> None:
        self._app = app
        self._portal = portal
        self._check = check
        self._run: _LifespanRun | None = None

    def __enter__(self) -> Self:
        if self._check is not None:
            self._check("sync", "with", "async with")
        self._portal.run(self._begin())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._portal.run(self.__aexit__(exc_type, exc, traceback))

    async def __aenter__(self) -> Self:
        if self._check is not None:
            self._check("async", "async with", "with")
        await self._begin()
        return self

    async def _begin(self) -> None:
        states = self._portal.app_states
        if id(self._app) in states:
            raise RuntimeError("the app's lifespan runs already: leave the first `with` block")
        run = _LifespanRun(self._app)
        states[id(self._app)] = run.state
        try:
            await run.start()
        except BaseException:
            del states[id(self._app)]
            raise
        self._run = run

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run, self._run = self._run, None
        del self._portal.app_states[id(self._app)]
        assert run is not None
        await run.stop()


class _LifespanRun:
    """One conversation with an app about its lifespan."""

    def __init__(self, app: AsgiApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._received = 0
        self._failure: str | None = None
        self._error: Exception | None = None
        # The app answered the startup; the block is being left; nothing more comes from the app.
        self._started = new_event()
        self._leaving = new_event()
        self._finished = new_event()
        self._companion = Companion(self._converse)

    async def start(self) -> None:
        """Start the app's lifespan, and wait until it says how that went."""
        await self._companion.start()
        over = True
        try:
            await self._started.wait()
            if self._failure is not None:
                await self._finished.wait()
            over = self._finished.is_set()
        finally:
            if over:
                await self._companion.stop()
        if self._received == 0:
            self._error = None  # it raised on the scope: no lifespan, and no failure
        self._raise_failure("startup")

    async def stop(self) -> None:
        """Tell the app that it ends, and wait until it has."""
        try:
            self._leaving.set()
            await self._finished.wait()
        finally:
            await self._companion.stop()
        self._raise_failure("shutdown")

    def _raise_failure(self, phase: str) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
        if self._failure is not None:
            raise RuntimeError(f"the ASGI app's {phase} failed: {self._failure}")

    async def _converse(self) -> None:
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self.state,
        }
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:  # raised by whoever waits for this
            self._error = error
        finally:
            self._started.set()
            self._finished.set()

    async def _receive(self) -> dict[str, str]:
        self._received += 1
        if self._received == 1:
            return {"type": "lifespan.startup"}
        if self._failure is None and self._received == 2:
            await self._leaving.wait()
            return {"type": "lifespan.shutdown"}
        # There is no third message. An app that asks for it in a loop is ended while it waits.
        self._finished.set()
        while True:
            await new_event().wait()

    async def _send(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        phase = "shutdown" if self._leaving.is_set() else "startup"
        if kind == f"lifespan.{phase}.failed":
            self._failure = message.get("message", "") or "it gave no reason"
        elif kind != f"lifespan.{phase}.complete":
            raise RuntimeError(f"the ASGI app sent {kind!r} where 'lifespan.{phase}...' belongs")
        self._started.set()
