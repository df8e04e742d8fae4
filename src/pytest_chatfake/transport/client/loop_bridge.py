"""From another thread into the test's own loop: for attempts that a request must wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .loops import running_framework

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class LoopBridge(Protocol):
    """The way into one loop."""

    def __call__(self, function: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Run a coroutine function in the loop, called from another thread, and wait."""
        ...

    def is_here(self) -> bool:
        """Whether no other loop than this one runs here."""
        ...


class _AsyncioBridge:
    def __init__(self, timeout: float) -> None:
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout

    def __call__(self, function: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        run = self._asyncio.run_coroutine_threadsafe
        run(function(), self._loop).result(self._timeout)

    def is_here(self) -> bool:
        return self._asyncio._get_running_loop() in (self._loop, None)


class _TrioBridge:
    def __init__(self, timeout: float) -> None:
        import trio  # noqa: PLC0415 - it runs, so it is there

        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._timeout = timeout

    def __call__(self, function: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        async def bounded() -> None:
            with self._trio.fail_after(self._timeout):
                await function()

        self._trio.from_thread.run(bounded, trio_token=self._token)

    def is_here(self) -> bool:
        try:
            return self._trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return True


def bridge_to_running_loop(timeout: float) -> LoopBridge | None:
    """Return the way into the loop that runs here; None in plain code.

    Args:
        timeout: How long a caller waits, in real seconds.
    """
    framework = running_framework()
    if framework == "asyncio":
        return _AsyncioBridge(timeout)
    return _TrioBridge(timeout) if framework == "trio" else None
