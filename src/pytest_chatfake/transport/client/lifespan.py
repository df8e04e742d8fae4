"""The lifespan of an ASGI app: runs startup and shutdown around a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Literal, Self

from ...base.arguments import unexpected
from ...base.errors import leaves_at_once
from .asgi import AsgiApp
from .loops import background_task, new_event
from .portal import Portal


class Lifespan:
    """Runs an app's startup at the beginning of a block, and its shutdown at the end.

    ``async with`` runs them in the running loop, ``with`` in the portal's. Inside the block, the
    app's requests get its ``state``. For an app without a lifespan (it raises on the scope, or
    returns at once), nothing happens.

    Args:
        app: The ASGI app.
        portal: Runs the lifespan in plain code, and keeps the state for `AsgiTarget`.
        check: Called with the block and its mode before it is entered; may raise an error.

    Raises:
        BaseException: Whatever the app raises in its startup or shutdown, with its traceback.
        RuntimeError: The app reports that its startup or shutdown failed, or breaks the protocol,
            or its lifespan is already running.
    """

    def __init__(
        self,
        app: AsgiApp,
        *,
        portal: Portal,
        check: Callable[[Lifespan, Literal["sync", "async"]], None] | None = None,
    ) -> None:
        self._app = app
        self._portal = portal
        self._check = check

    def __enter__(self) -> Self:
        if self._check is not None:
            self._check(self, "sync")
        self._portal.run(self._start())
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with suppress(*[Exception] * leaves_at_once(error)):
            self._portal.run(self._stop())

    async def __aenter__(self) -> Self:
        if self._check is not None:
            self._check(self, "async")
        await self._start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with suppress(*[Exception] * leaves_at_once(error)):
            await self._stop()

    async def _start(self) -> None:
        states, key = self._portal.app_states, id(self._app)
        if key in states:
            raise RuntimeError(
                "the app's lifespan is running already: leave the first `with` block"
            )
        self._state: dict[str, Any] = {}
        states[key] = self._state
        self._received = 0
        self._error: Exception | None = None
        self._started, self._leaving, self._finished = new_event(), new_event(), new_event()
        self._task = AsyncExitStack()
        try:
            await self._task.enter_async_context(background_task(self._run))
            await self._started.wait()
            if self._error is not None:  # reported by the app, which may still clean up
                await self._finished.wait()
            if self._finished.is_set():
                await self._task.aclose()
            if self._received == 0:
                self._error = None  # an app that raises on the scope has no lifespan, which is fine
            self._raise_error()
        except BaseException:
            del states[key]
            await self._task.aclose()
            raise

    async def _stop(self) -> None:
        del self._portal.app_states[id(self._app)]
        try:
            self._leaving.set()
            await self._finished.wait()
        finally:
            await self._task.aclose()
        self._raise_error()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    # What the app sees

    async def _run(self) -> None:
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self._state,
        }
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:  # _raise_error() raises it
            self._error = error
        finally:
            self._started.set()
            self._finished.set()

    async def _receive(self) -> dict[str, str]:
        self._received += 1
        if self._received == 1:
            return {"type": "lifespan.startup"}
        if self._error is None and self._received == 2:
            await self._leaving.wait()
            return {"type": "lifespan.shutdown"}
        # There is no third message, so an app that receives in a loop is cancelled while it waits.
        self._finished.set()
        while True:
            await new_event().wait()

    async def _send(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        phase = "shutdown" if self._leaving.is_set() else "startup"
        if kind == f"lifespan.{phase}.failed":
            reason = message.get("message", "") or "it gave no reason"
            self._error = RuntimeError(f"the ASGI app's {phase} failed: {reason}")
        elif kind != f"lifespan.{phase}.complete":
            raise RuntimeError(unexpected("ASGI app", f"'lifespan.{phase}...'", kind))
        self._started.set()
        if phase == "shutdown":
            self._finished.set()  # servers don't wait for the app to return, either
