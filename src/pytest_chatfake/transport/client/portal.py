"""From plain code into coroutines: the fake's own event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...base.errors import ClosedError
from .loops import GRACE_SECONDS, plain_context, running_framework
from .worker import Worker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class Portal:
    """One private asyncio loop, kept as long as the fake lives.

    It runs only while something is waited for. What an app leaves behind on it (a task, a
    connection pool) is kept, and goes on with the next call. It runs in the caller's thread; where
    a loop runs there already (Playwright's sync API, a coroutine that uses sync mode), the same
    loop runs in a thread beside it.

    Attributes:
        app_states: What lifespans that run now gave to their apps, by the ``id`` of the app.
    """

    def __init__(self) -> None:
        self.app_states: dict[int, dict[str, Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = Worker("chatfake-loop")
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine to its end and return what it returns.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            ClosedError: The portal is closed.
            RuntimeError: The private loop runs already, and this was called from within.
        """
        try:
            loop = self._open()
        except BaseException:
            coroutine.close()
            raise
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

    def close(self) -> None:
        """Cancel what is left on the loop, and close it; raise if a task does not end."""
        if self._closed:
            return
        if self._loop is not None and self._loop.is_running():
            raise RuntimeError("the fake's event loop runs this code: it can't be closed from here")
        self._closed = True
        loop, self._loop = self._loop, None
        try:
            if loop is not None:
                self._call(lambda: self._wind_up(loop))
        finally:
            self._worker.close()

    def _open(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise ClosedError("the fake is closed, and its event loop with it")
        if self._loop is None:
            import asyncio  # noqa: PLC0415 - costs 30 ms, and not every fake needs it

            self._loop = asyncio.new_event_loop()
        if self._loop.is_running():
            raise RuntimeError("the fake's event loop waits for this code: it can't run more now")
        return self._loop

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
            raise RuntimeError(
                f"the app left tasks that did not end when they were cancelled: {stubborn}"
            )
