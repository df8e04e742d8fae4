"""A private event loop, which runs only while plain code waits for a coroutine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from ...base.forks import call_in_children, new_rlock
from .loops import GRACE_SECONDS, left_after, plain_context, running_framework
from .worker import Worker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

# Real seconds: how long a fake waits while another one uses the shared loop.
TURN_SECONDS: Final = 30.0


# The loops of this process, and those of the process that forked it. These stay open here, because
# closing one would also change the parent's, which waits at the same selector.
_loops: WeakSet[PrivateLoop] = WeakSet()
_of_the_parent: list[asyncio.AbstractEventLoop] = []


class PrivateLoop:
    """An asyncio loop for one fake, or for all fakes of a session.

    Whatever an app leaves on the loop (a task, a connection pool) goes on at the next call. The
    loop runs in the caller's thread. If another loop is already running in that thread
    (Playwright's sync API, a coroutine that uses sync mode), it runs in a worker thread instead.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker = Worker("chatfake-loop")
        # Re-entrant, so that later fakes in this thread still work if an interrupt leaves it
        # locked.
        self._lock = new_rlock()
        self._owner: object | None = None  # the owner of the running coroutine
        _loops.add(self)

    def run(self, coroutine: Coroutine[Any, Any, T], owner: object) -> T:
        """Run a coroutine and return its result; owners in other threads wait for its end.

        Raises:
            BaseException: Whatever the coroutine raises, with its traceback.
            RuntimeError: The loop is waiting for this very code, or another owner takes too long.
        """
        try:
            self._take(owner)
        except BaseException:
            coroutine.close()
            raise
        try:
            if self._loop is None or self._loop.is_closed():  # the app may have closed it
                import asyncio  # noqa: PLC0415 - costs 30 ms, and not every fake needs it

                self._loop = asyncio.new_event_loop()
            return self._run(coroutine, self._loop)
        finally:
            self._give_back()

    def run_idle(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let an app's remaining tasks on the loop run while ``pause`` runs.

        Returns:
            False if there is no loop, or it is in use.
        """
        if self._loop is None or self._loop.is_closed() or self.runs_here():
            return False
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._run(pause(), self._loop)
        finally:
            self._give_back()
        return True

    def close(self) -> None:
        """Cancel the tasks that are left on the loop, and close it.

        Raises:
            RuntimeError: A task does not end, or the loop is waiting for this very code.
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
        if (owner is not None and owner is self._owner) or self.runs_here():
            raise RuntimeError(
                "the fake's event loop is waiting for this code to return: it can't be used now"
            )
        if not self._lock.acquire(timeout=TURN_SECONDS):
            raise RuntimeError(f"another fake has used the shared loop for {TURN_SECONDS:g} s")
        self._owner = owner

    def _give_back(self) -> None:
        self._owner = None
        self._lock.release()

    def runs_here(self) -> bool:
        """Return whether the loop is running in this thread, and so runs the caller."""
        if self._loop is None:
            return False
        import asyncio  # noqa: PLC0415 - imported if a loop runs

        return asyncio._get_running_loop() is self._loop

    def _run(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
        task = loop.create_task(coroutine, context=plain_context())
        try:
            return self._call(lambda: loop.run_until_complete(task))
        except BaseException:
            if not task.done():
                # Ctrl-C or a signal's timeout has ended our wait, but not the task.
                if running_framework() is not None:  # the worker must return first
                    loop.call_soon_threadsafe(task.cancel)
                self._call(lambda: self._cancel({task}, loop))
            raise

    def _call(self, function: Callable[[], T]) -> T:
        # Runs in a thread without another running loop.
        return function() if running_framework() is None else self._worker.call(function)

    def _cancel(
        self, tasks: set[asyncio.Task[Any]], loop: asyncio.AbstractEventLoop
    ) -> set[asyncio.Task[Any]]:
        # Returns the tasks that don't end.
        left = {task for task in tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            left = loop.run_until_complete(left_after(GRACE_SECONDS, left))
        return left

    def _wind_up(self, loop: asyncio.AbstractEventLoop) -> None:
        import asyncio  # noqa: PLC0415 - imported if a loop runs

        try:
            stubborn = self._cancel(asyncio.all_tasks(loop), loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
        if stubborn:
            raise RuntimeError(f"the app left tasks that ignore cancellation: {stubborn}")


def _leave_to_parent() -> None:
    for each in list(_loops):
        each._owner = None
        if each._loop is not None:
            _of_the_parent.append(each._loop)
            each._loop = None


call_in_children(_leave_to_parent)
