"""``Core``: what the parts of one fake share, such as its lock and its state."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, Protocol, TypeVar, cast

from ..base.forks import new_rlock
from ..base.scopes import Callback, Scopes
from ..base.tracebacks import first_of

_T = TypeVar("_T")


class _HasErrors(Protocol):
    errors: list[BaseException]


#: The class :class:`.FakeState`, whose parts know the core.
_State = TypeVar("_State", bound=_HasErrors)


class Core(Generic[_State]):
    """What the parts of one fake share, and a reset keeps: all but the state.

    Args:
        now: Returns the current time in nanoseconds.

    Attributes:
        now: As given.
        lock: Held while the state changes. It is re-entrant, because due work runs under it and
            acquires it again.
        state: What a reset forgets: it puts a new one here. Whatever goes on without the lock, such
            as an attempt, keeps the state in which it began.
        scopes: Which of the user's code is running, inside an attempt, a response or a callback.
        block: The block of the test that holds back whatever is queued; None outside such a block.
        depth: The length of the chain of attempts that has led here, each of which caused an event.
        closed: Whether the fake was closed, or interrupted.
        interrupt: The name of the interrupt that closed the fake; else empty.
    """

    state: _State

    def __init__(self, now: Callable[[], int]) -> None:
        self.now: Callable[[], int] = now
        self.lock: RLock = new_rlock()
        self.scopes: Scopes = Scopes()
        self.block: object = None
        self.depth: int = 0
        self.closed: bool = False
        self.interrupt: str = ""

    def is_inside(self) -> bool:
        """Return whether the caller is part of an attempt, a response or a callback.

        Such a caller must not attempt anything, nor wait for attempts.
        """
        return bool(self.scopes.current())

    def call_back(self, function: str, returns: str, call: Callable[[], _T]) -> _T:
        """Call a function of the test that may only read; release the lock, which is held once.

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
        """Raise the first of the state's errors, which names the others; not inside an attempt."""
        errors = self.state.errors
        if not errors or self.is_inside():
            return
        taken = errors[:]
        del errors[: len(taken)]
        if taken:  # unless another thread was faster
            raise first_of(taken)

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
