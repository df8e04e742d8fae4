"""A thread for blocking calls, which asyncio and trio can await.

A call in a thread can't be stopped. If the task that awaits it is cancelled, the cancellation is
held back for a grace period, so that a post which was made is recorded. If the call ends in time,
the task goes on with its result, and is cancelled again at its next ``await``, unless whoever
cancelled it (such as ``asyncio.timeout``) has taken that back meanwhile. asyncio counts a task's
cancellations, which tells the two apart; trio does all this by itself.
"""

from __future__ import annotations

from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .loops import (
    GRACE_SECONDS,
    checkpoint,
    plain_context,
    ring_after,
    running_framework,
    wake,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

T = TypeVar("T")


class Worker:
    """A thread for blocking calls, started at the first call.

    It makes one call after another, each in a copy of its caller's context.

    Args:
        name: The thread's name.
        grace: How many real seconds to wait for a call that was cancelled, or that still runs when
            the worker is closed, before abandoning it.
    """

    def __init__(self, name: str, *, grace: float = GRACE_SECONDS) -> None:
        self._name = name
        self._grace = grace
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def call(self, function: Callable[..., T], *args: object) -> T:
        """Call a function in the thread, and block until it returns."""
        return self._begin(function, args).result()

    def finishes(self, function: Callable[[], object], limit: float) -> bool:
        """Call a function in the thread; return whether it did within the limit, in real seconds.

        If not, it goes on.
        """
        future = self._begin(function, ())
        if not wait([future], limit).done:
            return False
        future.result()
        return True

    async def call_async(self, function: Callable[..., T], *args: object) -> T:
        """Call a function in the thread, and await its result in the running framework.

        A cancellation before the call prevents it. A later cancellation waits for the end of the
        call, up to the worker's grace. Then the result is returned normally, so that it can be
        recorded, and the cancellation takes effect at the caller's next ``await`` that waits.
        """
        await checkpoint()
        future = self._begin(function, args)
        await_end = _wait_in_trio if running_framework() == "trio" else _wait_in_asyncio
        await await_end(future, self._grace)
        try:
            return future.result()
        finally:
            del future  # breaks the cycle between an error's traceback and this frame

    def close(self) -> None:
        """End the thread and wait for it.

        Raises:
            RuntimeError: A call does not return.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            self._calls.put(None)
            thread.join(self._grace)
            if thread.is_alive():
                raise RuntimeError(f"{self._name}: a call did not return within {self._grace:g} s")

    def _begin(self, function: Callable[..., T], args: tuple[object, ...]) -> Future[T]:
        if self._thread is None or not self._thread.is_alive():  # a forked child has no thread
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._calls.put((partial(plain_context().run, function, *args), future))
        return future

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            try:
                result = function()
            except BaseException as error:  # future.result() raises it
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
            # Keep nothing of this call alive while the thread waits for the next one.
            del call, function, future


async def _wait_in_asyncio(future: Future[Any], grace: float) -> None:
    import asyncio  # noqa: PLC0415 - running, so imported

    loop = asyncio.get_running_loop()
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    handled = task.cancelling()
    ended = asyncio.Event()
    end = partial(wake, loop.call_soon_threadsafe, ended.set)
    future.add_done_callback(lambda _: end())
    cancelled: asyncio.CancelledError | None = None
    keep_waiting: Callable[[], None] | None = None
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError as error:
            cancelled = error
            keep_waiting = keep_waiting or ring_after(grace, end)
    if keep_waiting is not None:
        keep_waiting()
    if cancelled is not None:
        if not future.done():
            raise cancelled
        loop.call_soon(_cancel_again, task, cancelled, handled)


async def _wait_in_trio(future: Future[Any], grace: float) -> None:
    import trio  # noqa: PLC0415 - running, so imported

    token = trio.lowlevel.current_trio_token()
    ended = trio.Event()
    future.add_done_callback(lambda _: wake(token.run_sync_soon, ended.set))
    try:
        await ended.wait()
    except trio.Cancelled:
        with trio.move_on_after(grace, shield=True):
            await ended.wait()
        if not future.done():
            raise


def _cancel_again(task: asyncio.Task[Any], cancelled: asyncio.CancelledError, handled: int) -> None:
    # Repeats a caught cancellation, now that the task waits for something else. If its caller, such
    # as asyncio.timeout, has taken it back meanwhile, the count is the same as before.
    if task.cancelling() > handled:
        task.uncancel()  # or the same cancellation would count twice
        task.cancel(*cancelled.args)
