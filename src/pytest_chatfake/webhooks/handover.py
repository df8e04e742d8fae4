"""From a thread into the test's own loop: for attempts that a request must wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .loops import running_framework

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeAlias

__all__ = ["Handover", "handover"]

#: Runs a coroutine function in the loop that it was made in, called from another thread, and waits.
Handover: TypeAlias = "Callable[[Callable[[], Coroutine[Any, Any, None]]], None]"


def handover(timeout: float) -> Handover | None:
    """Return the way into the loop that runs here; None in plain code.

    Args:
        timeout: How long to wait, in real seconds.
    """
    framework = running_framework()
    if framework == "asyncio":
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        loop = asyncio.get_running_loop()

        def into_asyncio(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
            asyncio.run_coroutine_threadsafe(function(), loop).result(timeout)

        return into_asyncio
    if framework == "trio":
        import trio  # noqa: PLC0415 - it runs, so it is there

        token = trio.lowlevel.current_trio_token()

        def into_trio(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
            async def bounded() -> None:
                with trio.fail_after(timeout):
                    await function()

            trio.from_thread.run(bounded, trio_token=token)

        return into_trio
    return None
