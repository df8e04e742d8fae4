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
    """What the parts of one fake share; a reset clears it, and replaces nothing.

    Args:
        now: Returns the present in nanoseconds.

    Attributes:
        now: As given.
        lock: Held while the account, the schedule or the logs change. It is re-entrant, because due
            work runs under it and takes it again.
        schedule: What will be done, and when.
        history: What happened.
        scopes: Which of the user's code runs now, inside an attempt, a response or a callback.
        errors: What could not be raised where it happened: the test's next call raises the first.
        closed: Whether the test is over, or was interrupted.
        interrupt: The name of the interrupt that closed the fake; empty without one.
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
        """Forget what happened, and what was to happen."""
        self.schedule.clear()
        self.history.reset()
        self.errors.clear()

    def is_inside(self) -> bool:
        """Return whether the caller is part of an attempt, of a response, or of a callback.

        It must attempt nothing then, and wait for nothing.
        """
        return bool(self.scopes.current())

    def call_back(self, function: str, returns: str, call: Callable[[], _T]) -> _T:
        """Call a function of the configuration without the lock, which is held once.

        The function may ask for the balance over HTTP, and another thread responds to that.
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
        """Re-raise, in the test, the first error that could not be raised where it happened."""
        if not self.errors or self.is_inside():
            return
        first = self.errors[:1]
        self.errors.clear()
        if first:  # else another thread was faster
            raise first[0]

    def close_if_interrupted(self, error: BaseException) -> None:
        """Refuse everything after Ctrl-C or a test's timeout: a verb may be half done."""
        if _is_interrupt(error):
            self.closed = True
            self.interrupt = type(error).__name__
            self.scopes.open.clear()  # it may have come before the end of one was noted


def _is_interrupt(error: BaseException) -> bool:
    """Return whether an error may come anywhere; a cancellation comes only at an ``await``."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_interrupt, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    cancelled = type(error).__name__ in {"Cancelled", "CancelledError", "GeneratorExit"}
    return not (isinstance(error, Exception) or cancelled)
