"""A loop of our own, which runs only while somebody waits for something on it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.errors import ClosedError
from . import closed_loops
from .loops import GRACE_SECONDS, plain_context, running_framework
from .worker import Worker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class OwnLoop:
    """One private asyncio loop, of one fake or of all that share it.

    What an app leaves behind on it (a task, a connection pool) is kept, and goes on with the next
    call. It runs in the caller's thread; where a loop runs there already (Playwright's sync API, a
    coroutine that uses sync mode), the same loop runs in a thread beside it.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = Worker("chatfake-loop")
        self._closed = False
        self._turn = threading.Condition()  # guards the next two
        self._user: object | None = None  # for whom the loop runs
        self._lent = False  # and it will be given back soon

    def run(self, coroutine: Coroutine[Any, Any, T], user: object) -> T:
        """Run the coroutine to its end and return what it returns.

        While the loop runs for another user, in another thread, it runs there: that user may be
        waiting for this.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            ClosedError: The loop is closed.
            RuntimeError: It runs for this user already, or this was called from within.
        """
        try:
            loop, is_ours = self._take(user)
        except BaseException:
            coroutine.close()
            raise
        if not is_ours:
            return self._run_there(coroutine, loop, user)
        try:
            return self._run(coroutine, loop)
        finally:
            self._give_back()

    def lend(self, pause: Callable[[], Coroutine[Any, Any, object]], user: object) -> bool:
        """Let what an app left on the loop go on for as long as ``pause`` takes.

        Whoever calls `run` meanwhile waits for that. Where there is no loop, or it runs already,
        nothing happens.

        Returns:
            Whether the loop has run.
        """
        with self._turn:
            if self._loop is None or self._user is not None:
                return False
            self._user, self._lent = user, True
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

    def _run_there(
        self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, user: object
    ) -> T:
        """Run the coroutine while the loop runs for somebody else, and on from where that ends."""
        import asyncio  # noqa: PLC0415 - it is there when a loop is

        def wake(_: object) -> None:
            with self._turn:
                self._turn.notify_all()

        async def end() -> None:
            await asyncio.wait([asyncio.wrap_future(ending)])

        ending = plain_context().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
        ending.add_done_callback(wake)
        try:
            with self._turn:
                self._turn.wait_for(lambda: ending.done() or self._user is None)
                is_ours = not ending.done()
                if is_ours:
                    self._user = user
            if is_ours:
                try:
                    self._run(end(), loop)
                finally:
                    self._give_back()
            return ending.result()
        except BaseException:
            ending.cancel()  # Ctrl+C: it ended the waiting
            raise

    def close(self) -> None:
        """Cancel what is left on the loop, and close it; raise if a task does not end."""
        with self._turn:
            while self._lent and not self._runs_here():
                self._turn.wait()
            if self._user is not None:
                raise RuntimeError(
                    "the fake's event loop runs this code: it can't be closed from here"
                )
            self._closed = True
            loop, self._loop = self._loop, None
        try:
            if loop is not None and not loop.is_closed():
                self._call(lambda: self._wind_up(loop))
        finally:
            self._worker.close()

    def _take(self, user: object) -> tuple[asyncio.AbstractEventLoop, bool]:
        """Return the loop, and whether it runs for this user from now on, or for another one."""
        with self._turn:
            while (now := self._user) is not None and self._lent and not self._runs_here():
                self._turn.wait()
            if self._closed:
                raise ClosedError("the fake is closed, and its event loop with it")
            if now is not None:
                if now is user or self._loop is None or self._runs_here():
                    raise RuntimeError(
                        "the fake's event loop waits for this code: it can't run more now"
                    )
                return self._loop, False
            if self._loop is None or self._loop.is_closed():  # by the app: others are to go on
                import asyncio  # noqa: PLC0415 - costs 30 ms, and not every fake needs it

                self._loop = asyncio.new_event_loop()
            self._user = user
            return self._loop, True

    def _runs_here(self) -> bool:
        import asyncio  # noqa: PLC0415 - it is there when a loop is

        return asyncio._get_running_loop() is self._loop

    def _give_back(self) -> None:
        with self._turn:
            self._user, self._lent = None, False
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
            closed_loops.watch(loop)
        if stubborn:
            raise RuntimeError(
                f"the app left tasks that did not end when they were cancelled: {stubborn}"
            )
