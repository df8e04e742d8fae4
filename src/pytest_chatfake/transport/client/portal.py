"""From plain code into coroutines: the fake's own event loop."""

from __future__ import annotations

import threading
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
        self._turn = threading.Condition()  # guards the next two
        self._taken = False  # somebody runs the loop
        self._lent = False  # and will give it back soon

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine to its end and return what it returns.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            ClosedError: The portal is closed.
            RuntimeError: The private loop runs already, and this was called from within.
        """
        try:
            loop = self._take()
        except BaseException:
            coroutine.close()
            raise
        try:
            return self._run(coroutine, loop)
        finally:
            self._give_back()

    def lend(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let what an app left on the loop go on for as long as ``pause`` takes.

        Whoever calls `run` meanwhile waits for that. Where there is no loop, or it runs already,
        nothing happens.

        Returns:
            Whether the loop has run.
        """
        with self._turn:
            if self._loop is None or self._taken:
                return False
            self._taken = self._lent = True
        try:
            self._run(pause(), self._loop)
        finally:
            self._give_back()
        return True

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

    def close(self) -> None:
        """Cancel what is left on the loop, and close it; raise if a task does not end."""
        if self._closed:
            return
        with self._turn:
            self._wait_for_what_is_lent()
            if self._taken:
                raise RuntimeError(
                    "the fake's event loop runs this code: it can't be closed from here"
                )
            self._closed = True
            loop, self._loop = self._loop, None
        try:
            if loop is not None:
                self._call(lambda: self._wind_up(loop))
        finally:
            self._worker.close()

    def _take(self) -> asyncio.AbstractEventLoop:
        with self._turn:
            self._wait_for_what_is_lent()
            if self._closed:
                raise ClosedError("the fake is closed, and its event loop with it")
            if self._taken:
                raise RuntimeError(
                    "the fake's event loop waits for this code: it can't run more now"
                )
            if self._loop is None:
                import asyncio  # noqa: PLC0415 - costs 30 ms, and not every fake needs it

                self._loop = asyncio.new_event_loop()
            self._taken = True
            return self._loop

    def _wait_for_what_is_lent(self) -> None:
        while self._lent and not self._runs_here():
            self._turn.wait()

    def _runs_here(self) -> bool:
        import asyncio  # noqa: PLC0415 - it is there when a loop is

        return asyncio._get_running_loop() is self._loop

    def _give_back(self) -> None:
        with self._turn:
            self._taken = self._lent = False
            self._turn.notify_all()

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
