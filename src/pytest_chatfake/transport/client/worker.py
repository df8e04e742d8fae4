"""A thread for calls that block, awaited from asyncio or trio."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ...base.errors import ClosedError
from .loops import PATIENCE, plain_context, running_framework

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """A thread for calls that block, started when it is first needed.

    Calls are made one after another, each in a copy of its caller's context.

    Args:
        name: The thread's name.
        patience: Real seconds that a call may go on after it was cancelled, or while the worker is
            closed, before it is left to itself.
    """

    def __init__(self, name: str, *, patience: float = PATIENCE) -> None:
        self._name = name
        self._patience = patience
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def call(self, function: Callable[..., T], *args: object) -> T:
        """Call the function in the thread, and wait here."""
        ended = threading.Event()
        call = self._begin(function, args, ended.set)
        ended.wait()
        return call.outcome()

    async def call_async(self, function: Callable[..., T], *args: object) -> T:
        """Call the function in the thread, and wait in the running framework's way.

        A cancellation that comes before the call stops it from beginning. One that comes later
        waits for the call's end, but no longer than the worker's patience: the outcome is returned
        as if nothing had happened, so that it can be recorded, and the cancellation takes effect at
        the caller's next ``await`` that waits.
        """
        if running_framework() == "trio":
            return await self._call_from_trio(function, args)
        return await self._call_from_asyncio(function, args)

    def close(self) -> None:
        """End the thread, and wait until it has.

        Raises:
            RuntimeError: A call does not return.
        """
        self._closed = True
        thread, self._thread = self._thread, None
        if thread is not None:
            self._calls.put(None)
            thread.join(self._patience)
            if thread.is_alive():
                raise RuntimeError(
                    f"{self._name}: a call did not return within {self._patience:g} s"
                )

    def _begin(
        self, function: Callable[..., T], args: tuple[object, ...], wake: Callable[[], object]
    ) -> _Call[T]:
        if self._closed:
            raise ClosedError(f"{self._name} is closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        call = _Call(function, args, wake)
        self._calls.put(call)
        return call

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call.make()
            # Nothing of a call may live on in a thread that waits for the next one.
            del call

    async def _call_from_asyncio(self, function: Callable[..., T], args: tuple[object, ...]) -> T:
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        handled = task.cancelling()
        ended = asyncio.Event()
        call = self._begin(function, args, lambda: loop.call_soon_threadsafe(ended.set))
        cancelled: asyncio.CancelledError | None = None
        giving_up: asyncio.TimerHandle | None = None
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError as error:
                cancelled = error
                giving_up = giving_up or loop.call_later(self._patience, ended.set)
        if giving_up is not None:
            giving_up.cancel()
        if cancelled is not None:
            if not call.made:
                raise cancelled
            loop.call_soon(_cancel_again, task, cancelled, handled)
        return call.outcome()

    async def _call_from_trio(self, function: Callable[..., T], args: tuple[object, ...]) -> T:
        import trio  # noqa: PLC0415 - it runs, so it is there

        await trio.lowlevel.checkpoint_if_cancelled()
        token = trio.lowlevel.current_trio_token()
        ended = trio.Event()
        call = self._begin(function, args, lambda: token.run_sync_soon(ended.set))
        try:
            await ended.wait()
        except trio.Cancelled:
            with trio.move_on_after(self._patience, shield=True):
                await ended.wait()
            if not call.made:
                raise
        return call.outcome()


class _Call(Generic[T]):
    """One call on its way through a `Worker`."""

    def __init__(
        self, function: Callable[..., T], args: tuple[object, ...], wake: Callable[[], object]
    ) -> None:
        self._function = function
        self._args = args
        self._wake = wake
        self._context = plain_context()
        self._result: T | None = None
        self._error: BaseException | None = None
        self.made = False

    def make(self) -> None:
        """Make the call; runs in the worker's thread."""
        try:
            self._result = self._context.run(self._function, *self._args)
        except BaseException as error:  # raised where the call is awaited
            self._error = error
        self.made = True
        # A loop that ended meanwhile has nobody to wake.
        with suppress(RuntimeError):
            self._wake()

    def outcome(self) -> T:
        """Return what the function returned, or raise what it raised, once."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # breaks the circle of the traceback and this frame
        return cast("T", self._result)


def _cancel_again(task: asyncio.Task[Any], cancelled: asyncio.CancelledError, handled: int) -> None:
    """Repeat a cancellation that was caught, now that the task waits for something else.

    Whoever asked for it (`asyncio.timeout`, say) may be content meanwhile, and has then taken it
    back from the count of cancellations that are to be handled.
    """
    if task.cancelling() > handled:
        task.uncancel()  # it is still the same one, and is counted once
        task.cancel(*cancelled.args)
