"""Something awaited that another thread may end, in asyncio and in trio.

An ASGI app or an async function that never ends would hang its test without a word. Nothing in the
loop can end it in time, for the loop's timers stand still under freezegun. So a thread that
counts real seconds does it, by a cancellation that stays inside what is awaited here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from .loops import running_framework

T = TypeVar("T")

#: Awaits the code of an app in place of :meth:`Cancellable.run`, with the same arguments after the
#: :class:`Cancellable`; None: nothing does.
around: ContextVar[Callable[..., Coroutine[Any, Any, Any]] | None] = ContextVar(
    "pytest_chatfake_around", default=None
)


class CancelledExternally(Exception):  # noqa: N818 - reads as the fact that it states
    """What was awaited was ended from another thread.

    Attributes:
        why: What that thread gave as the reason.
    """

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Cancellable:
    """Awaits one thing at a time, which another thread may end."""

    def __init__(self) -> None:
        self._key: object | None = None
        self._schedule: Callable[[Callable[[], None]], object] | None = None
        self._end: Callable[[], object] | None = None
        self._why: Exception | None = None

    def is_awaiting(self, key: object) -> bool:
        """Return whether something is awaited under this key."""
        return self._key is key

    def call_soon(self, key: object, function: Callable[[], object]) -> bool:
        """Call a function, from another thread, in the loop that awaits something under this key.

        Returns:
            Whether it is awaited now; the function is not called if it is over by then.
        """
        schedule = self._schedule
        if self._key is not key or schedule is None:
            return False

        def call() -> None:
            if self._key is key:
                function()

        with suppress(RuntimeError):  # the loop is closed, and nothing is awaited there
            schedule(call)
        return True

    def cancel(self, key: object, why: Exception) -> bool:
        """End, from another thread, what is awaited under this key.

        Returns:
            Whether it is awaited now. It ends soon, unless it survives its cancellation.
        """
        return self.call_soon(key, lambda: self.cancel_here(why))

    def cancel_here(self, why: Exception) -> None:
        """End, from its own loop, what is awaited."""
        if self._why is None and self._end is not None:
            self._why = why
            self._end()

    def run_app(self, key: object, awaitable: Awaitable[T]) -> Coroutine[Any, Any, T]:
        """Await the code of an app: as :meth:`run` does, or as an attendant does."""
        attended = around.get()
        return self.run(key, awaitable) if attended is None else attended(self, key, awaitable)

    async def run(self, key: object, awaitable: Awaitable[T]) -> T:
        """Await something, and return what it returns.

        Raises:
            CancelledExternally: Another thread has cancelled it; what it raised or returned
                after that is lost.
            BaseException: What it raises.
        """
        self._key, self._why = key, None
        try:
            if running_framework() == "trio":
                return await self._run_in_trio(awaitable)
            return await self._run_in_asyncio(awaitable)
        finally:
            self._key = self._schedule = self._end = None

    async def _run_in_asyncio(self, awaitable: Awaitable[T]) -> T:
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        task = asyncio.current_task()
        assert task is not None
        cancellations = 0

        def end() -> None:
            nonlocal cancellations
            cancellations = task.cancelling()
            task.cancel()

        self._schedule, self._end = task.get_loop().call_soon_threadsafe, end
        try:
            result = await awaitable
        except (Exception, asyncio.CancelledError) as error:
            if self._why is None:
                raise
            # Our own cancellation is taken back; is there another one?
            if task.uncancel() > cancellations and not isinstance(error, Exception):
                raise
            raise CancelledExternally(self._why) from error
        if self._why is not None:
            task.uncancel()
            raise CancelledExternally(self._why)
        return result

    async def _run_in_trio(self, awaitable: Awaitable[T]) -> T:
        import trio  # noqa: PLC0415 - it runs, so it is there

        scope = trio.CancelScope()
        self._schedule = trio.lowlevel.current_trio_token().run_sync_soon
        self._end = scope.cancel
        results: list[T] = []
        try:
            with scope:
                results.append(await awaitable)
        except Exception as error:
            if self._why is None:
                raise
            raise CancelledExternally(self._why) from error
        if self._why is not None:
            raise CancelledExternally(self._why)
        return results[0]
