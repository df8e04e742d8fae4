"""What the parts of one fake share: its lock, time, schedule, history, scopes and errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, cast

from ..base.history import History
from ..base.scopes import Callback, Scopes
from ..domain.schedule import Schedule

_T = TypeVar("_T")


class Core:
    """What the parts of one fake share. A reset clears these objects, but keeps them.

    Args:
        now: Returns the present in nanoseconds.

    Attributes:
        now: As given.
        lock: Is held while the account, the schedule or the logs change. It is re-entrant, because
            due work runs under it and takes it again.
        schedule: What will be done, and when.
        history: What has happened.
        scopes: Which of the user's code is running, inside an attempt, a response or a callback.
        errors: Errors that could not be raised where they happened: the test's next call raises the
            first.
        closed: Whether the test is over, or was interrupted.
        interrupt: The name of the interrupt that closed the fake; else empty.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now: Callable[[], int] = now
        self.lock: threading.RLock = threading.RLock()
        self.schedule: Schedule = Schedule()
        self.history: History = History()
        self.scopes: Scopes = Scopes()
        self.errors: list[BaseException] = []
        self.closed: bool = False
        self.interrupt: str = ""

    def reset(self) -> None:
        """Forget what has happened and what was scheduled."""
        self.schedule.clear()
        self.history.reset()
        self.errors.clear()

    def is_inside(self) -> bool:
        """Return whether the caller is part of an attempt, a response or a callback.

        Then it must not attempt anything, nor wait for attempts.
        """
        return bool(self.scopes.current())

    def call_back(self, function: str, returns: str, call: Callable[[], _T]) -> _T:
        """Call a function from the configuration; release the lock meanwhile, which is held once.

        The function may ask for the balance over HTTP, and another thread has to respond to it.

        Args:
            function: What an error calls the function.
            returns: What it should return, for the same error.
            call: Calls it.
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
            self.scopes.open.discard(callback)

    def raise_errors(self) -> None:
        """Raise the first of ``errors``, unless the caller is part of an attempt."""
        if not self.errors or self.is_inside():
            return
        first = self.errors[:1]
        self.errors.clear()
        if first:  # or another thread was faster
            raise first[0]

    def close_if_interrupted(self, error: BaseException) -> None:
        """Close the fake after Ctrl-C or a test's timeout, because a verb may be half done."""
        if _is_interrupt(error):
            self.closed = True
            self.interrupt = type(error).__name__
            self.scopes.open.clear()  # the end of one may not have been noted


def _is_interrupt(error: BaseException) -> bool:
    # An interrupt may come anywhere, but a cancellation comes only at an `await`.
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_interrupt, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    cancelled = type(error).__name__ in {"Cancelled", "CancelledError", "GeneratorExit"}
    return not (isinstance(error, Exception) or cancelled)
