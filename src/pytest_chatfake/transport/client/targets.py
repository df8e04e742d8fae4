"""Targets: the URL, WSGI app, ASGI app or function that an attempt goes to.

Each target can be called in two ways. `attempt` is for plain code, and blocks. `attempt_async` is
awaited on the test's own loop, asyncio's or trio's, and does not block it, so a server on that loop
can respond. If a URL gives no complete response, the result has the error. An exception of an app
or a function is raised, with its traceback.

A cancellation of `attempt_async` reaches an ASGI app or an async function, and ends it like any
task. A thread can't be cancelled: an attempt at a URL or a WSGI app is finished, its response is
returned, and then the cancellation takes effect (see `Worker.call_async`). The same goes for
`cancel`, with which the watchdog ends attempts that take too long. The watchdog first calls
`disconnect`, so the app learns that its client is gone.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

from ...base.arguments import cited, utf8
from .cancellable import Cancellable, CancelledExternally
from .http_client import HttpClient
from .loops import GRACE_SECONDS
from .portal import Portal
from .responses import OutgoingRequest, Response
from .worker import Worker

RequestT = TypeVar("RequestT", bound=OutgoingRequest)

#: The response of a handler that returns nothing.
ACCEPTED = Response(200)


class Target(ABC):
    """The target of attempts, one at a time; `clone` it for concurrent ones.

    Attributes:
        threaded: Whether `attempt_async` calls the target in a thread, which delays cancellations.
        overlaps: Whether two attempts can be made at the same time.
        in_process: Whether the app's code runs in this process.
        on_loop: Whether the app's code runs on a loop, where its tasks go on at later attempts.
        printed: What a WSGI app wrote to ``wsgi.errors`` in the last attempt.
    """

    threaded: bool = False
    overlaps: bool = True
    in_process: bool = True
    on_loop: bool = False
    printed: str = ""
    _app: Any = None  # the app or function, if it runs in this process

    @abstractmethod
    def clone(self) -> Target:
        """Return another target for the same place, for a concurrent attempt."""

    def go_to(self, path: str) -> None:  # noqa: B027 - a function has no path
        """From the next attempt on, post to another path of the same app or server."""

    def replace(self, app: Any) -> None:
        """From the next attempt on, call another app, as after a restart."""
        self._app = app

    @abstractmethod
    def attempt(self, request: Any) -> Response:
        """Make one attempt and wait for it."""

    @abstractmethod
    async def attempt_async(self, request: Any) -> Response:
        """Make one attempt without blocking the running loop."""

    def response_so_far(self) -> Response | None:
        """Return the response if it is complete, even if the app is still running."""
        return None

    def disconnect(self, request: object) -> bool:  # noqa: ARG002 - as for `cancel`
        """From another thread, disconnect the client.

        Returns:
            Whether `cancel` can end the attempt if the app goes on anyway.
        """
        return False

    def cancel(self, request: object, why: Exception) -> bool:  # noqa: ARG002 - subclasses need it
        """From another thread, end the attempt at this request, with ``why`` as its error.

        Returns:
            Whether the attempt ends now or soon. A call of plain code can't be ended.
        """
        return False

    def hang_up(self) -> None:  # noqa: B027 - a no-op for most targets
        """Close idle connections; a running attempt is finished."""

    def close(self) -> None:  # noqa: B027 - a no-op for most targets
        """End connections and threads. Calling this again is a no-op."""


class UrlTarget(Target):
    """A URL, over a connection that is kept alive; see `HttpClient`."""

    threaded = True
    in_process = False

    def __init__(self, url: str, *, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._client = HttpClient(url, timeout=timeout)
        self._request: OutgoingRequest | None = None
        # The watchdog ends an attempt after its timeout, so wait at least as long.
        self._worker = Worker("chatfake-url", grace=timeout + GRACE_SECONDS)

    def clone(self) -> UrlTarget:
        """Return a target with a new connection, which is not kept alive."""
        clone = UrlTarget(self._url, timeout=self._timeout)
        clone._client.close()
        return clone

    def go_to(self, path: str) -> None:
        self._client.path = path

    def attempt(self, request: OutgoingRequest) -> Response:
        """Post; the response has any error of the connection."""
        self._request = request
        return self._client.post(request.body, request.headers)

    async def attempt_async(self, request: OutgoingRequest) -> Response:
        """Post from a thread, because the server may run on this very loop."""
        return await self._worker.call_async(self.attempt, request)

    def disconnect(self, request: object) -> bool:
        """End the attempt by shutting down its connection."""
        if request is self._request:
            self._client.abort()
        return True

    def cancel(self, request: object, why: Exception) -> bool:  # noqa: ARG002 - has its own error
        """End the attempt, which may have begun after `disconnect`."""
        return self.disconnect(request)

    def hang_up(self) -> None:
        """Close the connection, now or after the attempt that uses it."""
        self._client.close()

    def close(self) -> None:
        try:
            self._worker.close()
        finally:
            self._client.close()


class HandlerTarget(Target, Generic[RequestT]):
    """A function of the test that is called with the request; see `response_of` for its result.

    In both modes, a plain function is called in the test's thread. An async function is awaited on
    the test's own loop, or runs on the portal's.
    """

    def __init__(self, function: Callable[[RequestT], object], *, portal: Portal) -> None:
        self._app = function
        self._portal = portal
        self._awaited = Cancellable()
        # Plain functions can't overlap, because they all run in the test's thread.
        self.overlaps: bool = is_async(function)
        self.on_loop: bool = self.overlaps

    def clone(self) -> HandlerTarget[RequestT]:
        return HandlerTarget(self._app, portal=self._portal)

    def attempt(self, request: RequestT) -> Response:
        result = self._app(request)
        if result is None:
            return ACCEPTED
        if inspect.isawaitable(result):
            return self._portal.run(self._wait(request, result))
        return response_of(result)

    async def attempt_async(self, request: RequestT) -> Response:
        """Call the function, and await its result if possible."""
        result = self._app(request)
        if result is None:
            return ACCEPTED
        if inspect.isawaitable(result):
            return await self._wait(request, result)
        return response_of(result)

    async def _wait(self, request: RequestT, result: Awaitable[object]) -> Response:
        self.on_loop = True  # even if a plain function has returned an awaitable
        try:
            return response_of(await self._awaited.run_app(request, result))
        except CancelledExternally as late:
            return Response(None, b"", late.why)

    def disconnect(self, request: object) -> bool:
        """Do nothing yet; return whether the function is async and so can be cancelled."""
        return self._awaited.is_awaiting(request)

    def cancel(self, request: object, why: Exception) -> bool:
        """Cancel an async function; a plain one can't be ended."""
        return self._awaited.cancel(request, why)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function or an object with ``__call__()`` is async."""
    call = getattr(function, "__call__", None)  # noqa: B004 - it may be async
    return any(map(inspect.iscoroutinefunction, (function, call)))


def response_of(result: object) -> Response:
    """Return the response that a handler's result stands for.

    Args:
        result: None for 200, a status, ``(status, body)``, or a framework's response: an object
            with ``status_code``, and the body in ``data``, ``content`` or ``body``.

    Raises:
        TypeError: The result is something else.
        ValueError: The status is invalid.
    """
    if result is None:
        return ACCEPTED
    returned = result  # kept for the error, because type checkers narrow `result` below
    status: object = result
    body: object = b""
    if isinstance(result, tuple):
        if len(result) == 2:  # pyright: ignore[reportUnknownArgumentType] - a user's
            status, body = cast("tuple[object, object]", result)
    elif not isinstance(result, int):
        status = getattr(result, "status_code", None)
        bodies = (getattr(result, name, None) for name in ("data", "content", "body"))
        body = next((found for found in bodies if isinstance(found, bytes | str)), b"")
    if isinstance(body, str):
        body = utf8(body, "the body that a handler returned")
    if isinstance(status, bool) or not isinstance(status, int) or not isinstance(body, bytes):
        raise TypeError(
            "handler: expected None (for 200), a status such as 500, (status, body), or a response"
            f" with a status_code, got {cited(returned)}"
        )
    if not 100 <= status <= 599:
        raise ValueError(f"handler: expected an HTTP status, got {status}")
    return Response(int(status), body)
