"""A private event loop, which runs only while somebody waits for something on it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .loops import GRACE_SECONDS, plain_context, running_framework
from .worker import Worker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

# Real seconds that a fake waits for another one that uses the loop they share.
TURN_SECONDS: Final = 30.0


class PrivateLoop:
    """One asyncio loop, of one fake or of all that share it.

    What an app leaves behind on it (a task, a connection pool) is kept, and goes on with the next
    call. It runs in the caller's thread; where a loop runs there already (Playwright's sync API, a
    coroutine that uses sync mode), the same loop runs in a thread beside it.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = Worker("chatfake-loop")
        # A thread may take it again, so what an interrupt left taken stops no later fake there.
        self._lock = threading.RLock()
        self._owner: object | None = None  # for whom the loop runs

    def run(self, coroutine: Coroutine[Any, Any, T], owner: object) -> T:
        """Run the coroutine to its end and return what it returns.

        Another owner, in another thread, waits until then.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            RuntimeError: The loop waits for this very code.
        """
        try:
            self._take(owner)
        except BaseException:
            coroutine.close()
            raise
        try:
            if self._loop is None or self._loop.is_closed():  # by the app
                import asyncio  # noqa: PLC0415 - costs 30 ms, and not every fake needs it

                self._loop = asyncio.new_event_loop()
            return self._run(coroutine, self._loop)
        finally:
            self._give_back()

    def run_idle(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let what an app left on the loop go on for as long as ``pause`` takes.

        Returns:
            Whether it did: not where there is no loop, or it is used.
        """
        if self._loop is None or self._runs_here() or not self._lock.acquire(blocking=False):
            return False
        try:
            self._run(pause(), self._loop)
        finally:
            self._give_back()
        return True

    def close(self) -> None:
        """Cancel what is left on the loop, and close it.

        Raises:
            RuntimeError: A task does not end, or the loop waits for this very code.
        """
        if self._loop is None:  # it was never used
            self._worker.close()
            return
        self._take(None)
        try:
            loop, self._loop = self._loop, None
            if not loop.is_closed():
                self._call(lambda: self._wind_up(loop))
        finally:
            self._give_back()
            self._worker.close()

    def _take(self, owner: object) -> None:
        """Wait until nobody else uses the loop."""
        if (owner is not None and owner is self._owner) or self._runs_here():
            raise RuntimeError(
                "the fake's event loop is waiting for this code to return: it can't be used now"
            )
        if not self._lock.acquire(timeout=TURN_SECONDS):
            raise RuntimeError(f"another fake has used the shared loop for {TURN_SECONDS:g} s")
        self._owner = owner

    def _give_back(self) -> None:
        self._owner = None
        self._lock.release()

    def _runs_here(self) -> bool:
        if self._loop is None:
            return False
        import asyncio  # noqa: PLC0415 - it is there when a loop is

        return asyncio._get_running_loop() is self._loop

    def _run(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
        task = loop.create_task(coroutine, context=plain_context())
        try:
            return self._call(lambda: loop.run_until_complete(task))
        except BaseException:
            if not task.done():
                # Ctrl+C, or a signal's timeout: it ended the waiting, not the task.
                if running_framework() is not None:  # the thread beside must come back first
                    loop.call_soon_threadsafe(task.cancel)
                self._call(lambda: self._cancel({task}, loop))
            raise

    def _call(self, function: Callable[[], T]) -> T:
        """Call the function where no other loop runs: here, or in the thread beside it."""
        return function() if running_framework() is None else self._worker.call(function)

    def _cancel(
        self, tasks: set[asyncio.Task[Any]], loop: asyncio.AbstractEventLoop
    ) -> set[asyncio.Task[Any]]:
        """Cancel the tasks and return those that do not end."""
        import asyncio  # noqa: PLC0415 - it is there when a task is

        left = {task for task in tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            _, left = loop.run_until_complete(asyncio.wait(left, timeout=GRACE_SECONDS))
        return left

    def _wind_up(self, loop: asyncio.AbstractEventLoop) -> None:
        import asyncio  # noqa: PLC0415 - it is there when a loop is

        try:
            stubborn = self._cancel(asyncio.all_tasks(loop), loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
        if stubborn:
            raise RuntimeError(f"the app left tasks that ignore their cancellation: {stubborn}")
