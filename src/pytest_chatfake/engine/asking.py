"""Functions of the configuration, asked in the middle of a verb: they may look, and no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from ..base.errors import ChatFakeError

T = TypeVar("T")


class Lock(Protocol):
    """What is let go and taken again."""

    def acquire(self) -> object:
        """Take it."""
        ...

    def release(self) -> None:
        """Let it go."""
        ...


class Asking:
    """Knows which threads are inside a function of the configuration.

    Args:
        lock: The fake's lock. It is let go meanwhile: the function may ask for the balance over
            HTTP, which another thread answers.

    Attributes:
        threads: What each thread asks, and what that is to return.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self.threads: dict[int, tuple[str, str]] = {}

    def ask(self, function: str, returns: str, call: Callable[[], T]) -> T:
        """Ask a function, and return what it returns.

        Args:
            function: What kind of function it is, for messages.
            returns: What it is to return.
            call: Calls it.
        """
        thread = threading.get_ident()
        self.threads[thread] = (function, returns)
        try:
            self._lock.release()
            return call()
        finally:
            self._lock.acquire()
            del self.threads[thread]

    def refuse_verb(self, what: str) -> None:
        """Refuse a verb that such a function calls.

        Raises:
            ChatFakeError: It is one.
        """
        asked = self.threads.get(threading.get_ident())
        if asked is not None:
            function, returns = asked
            raise ChatFakeError(
                f"{what} is not possible in {function}: it is asked in the middle of a verb. "
                f"It may look at the message and at the fake, and return {returns}."
            )

    def refuse_reset(self) -> None:
        """Refuse to begin anew while any thread is inside such a function.

        Raises:
            ChatFakeError: One is.
        """
        for function, _ in list(self.threads.values()):
            raise ChatFakeError(f"reset() is not possible while {function} is asked")
