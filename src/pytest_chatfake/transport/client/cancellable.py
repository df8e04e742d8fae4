"""Something awaited that another thread may end, in asyncio and in trio.

An ASGI app or an async function that never ends would hang its test without a word. Nothing in the
loop can end it in time, for the loop's timers stand still under freezegun. So whoever counts real
seconds in another thread does it, by a cancellation that stays inside what is awaited here.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from .loops import running_framework

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


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
        self._task: asyncio.Task[Any] | None = None
        self._end_in_trio: Callable[[], None] | None = None
        self._why: Exception | None = None
        self._cancellations = 0

    def cancel(self, key: object, why: Exception) -> bool:
        """End, from another thread, what is awaited under this key.

        Returns:
            Whether it is awaited now. It ends soon, unless it survives its cancellation.
        """
        task, end_in_trio = self._task, self._end_in_trio
        if self._key is not key:
            return False
        with suppress(RuntimeError):  # the loop is closed, and nothing is awaited there
            if task is not None:
                task.get_loop().call_soon_threadsafe(self._cancel, key, task, why)
            elif end_in_trio is not None:
                self._why = why
                end_in_trio()
        return True

    async def run(self, key: object, awaitable: Awaitable[T]) -> T:
        """Await something, and return what it returns.

        Raises:
            CancelledExternally: Another thread has cancelled it; what it raised or returned
                after that is lost.
            BaseException: What it raises.
        """
        if "trio" in sys.modules and running_framework() == "trio":
            return await self._run_in_trio(key, awaitable)
        import asyncio  # noqa: PLC0415 - it runs, so it is there

        task = self._task = asyncio.current_task()
        assert task is not None
        self._key = key
        self._why = None
        try:
            result = await awaitable
        except (Exception, asyncio.CancelledError) as error:
            if self._why is None or self._is_cancelled_by_others(task, error):
                raise
            raise CancelledExternally(self._why) from error
        finally:
            self._key = self._task = None
        if self._why is not None:
            task.uncancel()
            raise CancelledExternally(self._why)
        return result

    def _cancel(self, key: object, task: asyncio.Task[Any], why: Exception) -> None:
        """Cancel a task from within its loop, if it still awaits the same thing."""
        if self._key is key and self._why is None:
            self._why = why
            self._cancellations = task.cancelling()
            task.cancel()

    def _is_cancelled_by_others(self, task: asyncio.Task[Any], error: BaseException) -> bool:
        """Take our own cancellation back, and return whether there is another one."""
        return task.uncancel() > self._cancellations and not isinstance(error, Exception)

    async def _run_in_trio(self, key: object, awaitable: Awaitable[T]) -> T:
        import trio  # noqa: PLC0415 - it runs, so it is there

        token = trio.lowlevel.current_trio_token()
        scope = trio.CancelScope()
        self._key, self._why = key, None
        self._end_in_trio = lambda: token.run_sync_soon(scope.cancel)
        results: list[T] = []
        try:
            with scope:
                results.append(await awaitable)
        except Exception as error:
            if self._why is None or not scope.cancel_called:
                raise
            raise CancelledExternally(self._why) from error
        finally:
            self._key = self._end_in_trio = None
        if self._why is not None and scope.cancel_called:
            raise CancelledExternally(self._why)
        return results[0]
