"""From a thread into the test's own loop: for attempts that a request must wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .loops import running_framework

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["Handover", "handover"]


class Handover(Protocol):
    """The way into one loop."""

    def __call__(self, function: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Run a coroutine function in the loop, called from another thread, and wait."""
        ...

    def is_here(self) -> bool:
        """Whether its loop runs here, or none does."""
        ...


class _IntoAsyncio:
    def __init__(self, timeout: float) -> None:
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout

    def __call__(self, function: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        run = self._asyncio.run_coroutine_threadsafe
        run(function(), self._loop).result(self._timeout)

    def is_here(self) -> bool:
        loop = self._asyncio._get_running_loop()
        return loop is self._loop or loop is None


class _IntoTrio:
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


def handover(timeout: float) -> Handover | None:
    """Return the way into the loop that runs here; None in plain code.

    Args:
        timeout: How long to wait, in real seconds.
    """
    framework = running_framework()
    if framework == "asyncio":
        return _IntoAsyncio(timeout)
    return _IntoTrio(timeout) if framework == "trio" else None
