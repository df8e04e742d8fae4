"""Event loops: which framework is running, and a few functions that work in asyncio and trio.

trio may be missing, and asyncio is only imported if it is used.
"""

from __future__ import annotations

import contextvars
import sys
import types
from contextlib import asynccontextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import (
        AsyncGenerator,
        Callable,
        Collection,
        Coroutine,
        Generator,
        Sequence,
    )

    import trio

LoopEvent: TypeAlias = "asyncio.Event | trio.Event"
AnyFunction: TypeAlias = "Callable[[], object]"
AsyncFunction: TypeAlias = "Callable[[], Coroutine[Any, Any, None]]"
Ended: TypeAlias = Literal["done", "cancelled", "blocked"]

# Real seconds: a loop that has not begun another thread's call within this time is blocked.
TAKE_UP_SECONDS = 0.5

# Real seconds: how long to wait for a cancelled task before going on without it.
GRACE_SECONDS = 5.0


def running_framework() -> Literal["asyncio", "trio"] | None:
    """Return the framework whose task is running in this thread; None in plain code."""
    # Trio first, because in guest mode it runs inside an asyncio loop.
    trio = sys.modules.get("trio")
    if trio is not None:
        with suppress(RuntimeError):
            trio.lowlevel.current_task()
            return "trio"
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            return "asyncio"
    return None


def running_task() -> object | None:
    """Return the task that is running in this thread; None in plain code."""
    framework = running_framework()
    if framework is None:
        return None
    current: Any = sys.modules["trio"].lowlevel if framework == "trio" else sys.modules["asyncio"]
    task: object | None = current.current_task()
    return task


def has_other_tasks() -> bool:
    """Return whether other tasks may go on in the running loop while this one waits."""
    framework = running_framework()
    if framework == "asyncio":
        import asyncio  # noqa: PLC0415 - running, so imported

        return len(asyncio.all_tasks()) > 1
    return framework is not None  # trio does not list its tasks


async def checkpoint() -> None:
    """Let a pending cancellation take effect."""
    if running_framework() == "trio":
        import trio  # noqa: PLC0415 - running, so imported

        await trio.lowlevel.checkpoint_if_cancelled()
    else:
        await _turn()


async def let_others_run() -> None:
    """Suspend for one turn of the loop, as a sleep does."""
    if running_framework() == "trio":
        import trio  # noqa: PLC0415 - running, so imported

        await trio.lowlevel.checkpoint()
    else:
        await _turn()


@types.coroutine
def _turn() -> Generator[None, None, None]:
    # As asyncio.sleep(0), which a test may have replaced with the fake's own sleep().
    yield


def new_event() -> LoopEvent:
    """Return an event of the running framework."""
    if running_framework() == "trio":
        import trio  # noqa: PLC0415 - running, so imported

        return trio.Event()
    import asyncio  # noqa: PLC0415 - costs 30 ms if nothing else uses it

    return asyncio.Event()


def plain_context() -> contextvars.Context:
    """Return a copy of this context for another loop or thread.

    sniffio notes the running framework in the context, and the copy must not have a wrong one.
    """
    context = contextvars.copy_context()
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None and context.get(sniffio.current_async_library_cvar) is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context


async def gather(functions: Sequence[AsyncFunction]) -> None:
    """Run coroutine functions concurrently, each in its own task; they begin in order."""
    if running_framework() == "trio":
        import trio  # noqa: PLC0415 - running, so imported

        async with trio.open_nursery() as nursery:
            for function in functions:
                nursery.start_soon(function)
    else:
        import asyncio  # noqa: PLC0415 - running, so imported

        await asyncio.gather(*(function() for function in functions))


@asynccontextmanager
async def background_task(function: AsyncFunction) -> AsyncGenerator[None]:
    """Run a coroutine function during a block; at the end, cancel it and wait for it.

    Enter and leave the block in the same framework and, for trio, in the same task. An exception of
    the function is raised at the end.
    """
    if running_framework() == "trio":
        import trio  # noqa: PLC0415 - running, so imported

        async with trio.open_nursery() as nursery:
            nursery.start_soon(function)
            yield
            nursery.cancel_scope.cancel()
    else:
        import asyncio  # noqa: PLC0415 - running, so imported

        task = asyncio.create_task(function())
        yield
        task.cancel()
        left = await left_after(GRACE_SECONDS, {task})
        if not (left or task.cancelled()):
            task.result()


def ring_after(seconds: float, ring: AnyFunction) -> Callable[[], None]:
    """Call a function after some real seconds, in a thread; return what prevents that.

    freezegun stops a loop's own timers.
    """
    prevented = Event()

    def wait() -> None:
        if not prevented.wait(seconds):
            ring()

    def prevent() -> None:
        prevented.set()
        thread.join()

    thread = Thread(target=wait, name="chatfake-grace", daemon=True)
    thread.start()
    return prevent


def wake(call_soon: Callable[[AnyFunction], object], waiting: AnyFunction) -> None:
    """Call a function on another thread's loop; if that is closed, nothing waits on it any more."""
    with suppress(RuntimeError):
        call_soon(waiting)


async def left_after(
    seconds: float, tasks: Collection[asyncio.Task[Any]]
) -> set[asyncio.Task[Any]]:
    """Wait for asyncio's tasks, for some real seconds; return those that have not ended."""
    import asyncio  # noqa: PLC0415 - running, so imported

    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    end = partial(over.set_result, None)
    stop = ring_after(seconds, partial(wake, loop.call_soon_threadsafe, end))
    left: set[asyncio.Task[Any]] = set(tasks)
    try:
        while left and not over.done():
            await asyncio.wait([*left, over], return_when=asyncio.FIRST_COMPLETED)
            left = {task for task in left if not task.done()}
    finally:
        stop()
    return left


class LoopBridge(NamedTuple):
    """The way into a loop from other threads.

    Attributes:
        run: Runs a coroutine function on the loop and waits for its end. If that doesn't come
            within so many real seconds, the function is cancelled. The loop may also be "blocked",
            perhaps by a call that waits for this very thread.
        is_here: Returns False if another loop is running in this thread.
    """

    run: Callable[[AsyncFunction, float], Ended]
    is_here: Callable[[], bool]


def bridge_to_running_loop() -> LoopBridge | None:
    """Return the way into the loop that is running in this thread; None in plain code."""
    framework = running_framework()
    if framework == "asyncio":
        return _bridge_to_asyncio()
    return _bridge_to_trio() if framework == "trio" else None


def _responds(call_soon: Callable[[AnyFunction], object]) -> bool:
    taken_up = Event()
    call_soon(taken_up.set)
    return taken_up.wait(TAKE_UP_SECONDS)


def _bridge_to_asyncio() -> LoopBridge:
    import asyncio  # noqa: PLC0415 - running, so imported
    from concurrent import futures  # noqa: PLC0415 - asyncio has imported it

    loop = asyncio.get_running_loop()

    def run(function: AsyncFunction, limit: float) -> Ended:
        if not _responds(loop.call_soon_threadsafe):
            return "blocked"
        running = asyncio.run_coroutine_threadsafe(function(), loop)
        futures.wait([running], limit)
        if running.cancel():
            return "cancelled"
        running.result()
        return "done"

    return LoopBridge(run, lambda: asyncio._get_running_loop() in (loop, None))


def _bridge_to_trio() -> LoopBridge:
    import trio  # noqa: PLC0415 - running, so imported

    token = trio.lowlevel.current_trio_token()

    def run(function: AsyncFunction, limit: float) -> Ended:
        async def bounded() -> Ended:
            with trio.move_on_after(limit) as scope:
                await function()
            return "cancelled" if scope.cancelled_caught else "done"

        if not _responds(token.run_sync_soon):
            return "blocked"
        return trio.from_thread.run(bounded, trio_token=token)

    def is_here() -> bool:
        try:
            return trio.lowlevel.current_trio_token() is token
        except RuntimeError:
            return True

    return LoopBridge(run, is_here)
