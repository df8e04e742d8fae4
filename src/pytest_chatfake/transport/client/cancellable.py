"""Awaits code that another thread can cancel, in asyncio and in trio.

An ASGI app or an async function that never ends would silently hang its test. A timeout in the loop
doesn't help, because the loop's timers stand still under freezegun. So a thread that counts real
seconds cancels the app's code, and this module keeps the cancellation from reaching the code that
awaits the app.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from .loops import running_framework

T = TypeVar("T")

#: A function that awaits an app's code instead of :meth:`Cancellable.run`. It takes the
#: :class:`Cancellable` and then the same arguments. None: no such function.
around: ContextVar[Callable[..., Coroutine[Any, Any, Any]] | None] = ContextVar(
    "pytest_chatfake_around", default=None
)


class CancelledExternally(Exception):  # noqa: N818 - reads as the fact that it states
    """Another thread has cancelled the awaited code.

    Attributes:
        why: The reason given by that thread.
    """

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Cancellable:
    """Awaits one thing at a time, under a key by which another thread can cancel it."""

    def __init__(self) -> None:
        self._key: object | None = None
        self._schedule: Callable[[Callable[[], None]], object] | None = None
        self._end: Callable[[], object] | None = None
        self._why: Exception | None = None

    def is_awaiting(self, key: object) -> bool:
        return self._key is key

    def call_soon(self, key: object, function: Callable[[], object]) -> bool:
        """From another thread, call a function on the loop that awaits code under this key.

        Returns:
            Whether code is awaited now. If it ends before the call, the function is not called.
        """
        schedule = self._schedule
        if self._key is not key or schedule is None:
            return False

        def call() -> None:
            if self._key is key:
                function()

        with suppress(RuntimeError):  # the loop is closed, so nothing is awaited on it
            schedule(call)
        return True

    def cancel(self, key: object, why: Exception) -> bool:
        """From another thread, cancel the code that is awaited under this key.

        Returns:
            Whether code is awaited now. It ends soon, unless it ignores its cancellation.
        """
        return self.call_soon(key, lambda: self.cancel_here(why))

    def cancel_here(self, why: Exception) -> None:
        """Cancel the awaited code, from its own loop."""
        if self._why is None and self._end is not None:
            self._why = why
            self._end()

    def run_app(self, key: object, awaitable: Awaitable[T]) -> Awaitable[T]:
        """Await an app's code with :meth:`run`, or with the function in `around`.

        The code gets a context of its own, as a request has at a server, so variables that it sets
        are gone afterwards.
        """
        attended = around.get()
        if attended is None:
            return in_own_context(self.run(key, awaitable))
        return in_own_context(attended(self, key, awaitable))

    async def run(self, key: object, awaitable: Awaitable[T]) -> T:
        """Await something and return its result.

        Raises:
            CancelledExternally: Another thread has cancelled it. Any later exception or result is
                lost.
            BaseException: Whatever the awaited code raises.
        """
        self._key, self._why = key, None
        try:
            if running_framework() == "trio":
                return await self._run_in_trio(awaitable)
            return await self._run_in_asyncio(awaitable)
        finally:
            self._key = self._schedule = self._end = None

    async def _run_in_asyncio(self, awaitable: Awaitable[T]) -> T:
        import asyncio  # noqa: PLC0415 - running, so imported

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
            # Take back our own cancellation, and let all others through.
            if task.uncancel() > cancellations and not isinstance(error, Exception):
                raise
            raise CancelledExternally(self._why) from error
        if self._why is not None:
            task.uncancel()
            raise CancelledExternally(self._why)
        return result

    async def _run_in_trio(self, awaitable: Awaitable[T]) -> T:
        import trio  # noqa: PLC0415 - running, so imported

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


@types.coroutine
def in_own_context(inner: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Like ``await inner``, in a copy of the context, but in the same task."""
    run, step = copy_context().run, partial(inner.send, None)
    while True:
        try:
            suspended = run(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            step = partial(inner.send, (yield suspended))
        except GeneratorExit:
            run(inner.close)
            raise
        except BaseException as error:
            step = partial(inner.throw, error)
