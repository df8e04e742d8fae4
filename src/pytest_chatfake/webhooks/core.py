"""``Core``: what the parts of one fake share, such as its lock, schedule and history."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeVar, cast

from ..base.forks import new_rlock
from ..base.history import History
from ..base.scopes import Callback, Scopes
from ..base.tracebacks import LoggedError
from ..domain.schedule import Schedule

_T = TypeVar("_T")


class Core:
    """What the parts of one fake share. A reset empties these objects, but keeps them.

    Args:
        now: Returns the current time in nanoseconds.

    Attributes:
        now: As given.
        lock: Held while the account, the schedule or the logs change. It is re-entrant, because due
            work runs under it and acquires it again.
        schedule: What will happen, and when.
        history: What has happened.
        scopes: Which of the user's code is running, inside an attempt, a response or a callback.
        errors: Errors that could not be raised where they happened: the test's next call raises the
            first.
        background: Exceptions of tasks and threads, and those that are logged once the attempt that
            started the code has ended.
        closed: Whether the test is over, or was interrupted.
        interrupt: The name of the interrupt that closed the fake; else empty.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now: Callable[[], int] = now
        self.lock: RLock = new_rlock()
        self.schedule: Schedule = Schedule()
        self.history: History = History()
        self.scopes: Scopes = Scopes()
        self.errors: list[BaseException] = []
        self.background: list[LoggedError] = []
        self.closed: bool = False
        self.interrupt: str = ""

    def reset(self) -> None:
        """Forget what has happened and what was scheduled."""
        self.schedule.clear()
        self.history.reset()
        self.errors.clear()
        self.background.clear()

    def is_inside(self) -> bool:
        """Return whether the caller is part of an attempt, a response or a callback.

        Such a caller must not attempt anything, nor wait for attempts.
        """
        return bool(self.scopes.current())

    def call_back(self, function: str, returns: str, call: Callable[[], _T]) -> _T:
        """Call a function from the configuration; release the lock meanwhile, which is held once.

        The function may ask for the balance over HTTP, and another thread has to respond to that.

        Args:
            function: The name of the function in an error.
            returns: What the function should return, for the same error.
            call: Calls the function.
        """
        callback = Callback(function, returns)
        try:
            self.scopes.begin(callback)
            try:
                self.lock.release()
                return call()
            finally:
                self.lock.acquire()
        finally:
            self.scopes.end(callback)

    def raise_errors(self) -> None:
        """Raise the first of ``errors``, unless the caller is part of an attempt."""
        if not self.errors or self.is_inside():
            return
        first = self.errors[:1]
        self.errors.clear()
        if first:  # unless another thread was faster
            raise first[0]

    def close_if_interrupted(self, error: BaseException) -> None:
        """Close the fake after Ctrl-C or a test's timeout, because a verb may be half done."""
        if _is_interrupt(error):
            self.closed = True
            self.interrupt = type(error).__name__
            self.scopes.open.clear()  # a scope's end may not have been noted


def _is_interrupt(error: BaseException) -> bool:
    # An interrupt can happen anywhere, but a cancellation only at an `await`.
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_interrupt, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    cancelled = type(error).__name__ in {"Cancelled", "CancelledError", "GeneratorExit"}
    return not (isinstance(error, Exception) or cancelled)
