"""Code of the user's that runs inside the fake, and what it may do there.

A *callback* is a function of the configuration (a price, ``extra=``, an autopilot's length). It is
called in the middle of a verb, so it may only read the fake. A *response* is being written while a
user's route runs: verbs act at once there, and their events stay queued, because the app may be
waiting for that very response.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ..base.errors import ChatFakeError
from ..base.history import Record

T = TypeVar("T")

#: The fakes to whose requests the running code writes a response.
_responding: ContextVar[tuple[Responses, ...]] = ContextVar(
    "pytest_chatfake_responding", default=()
)


class Callbacks:
    """Knows which threads are inside a function of the configuration.

    Attributes:
        threads: The kind of callback that each thread is in, and of its result.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self.threads: dict[int, tuple[str, str]] = {}

    def call(self, function: str, returns: str, call: Callable[[], T]) -> T:
        """Call a function without the lock, which is held once, and return the result.

        The function may ask for the balance over HTTP, and another thread responds to that.
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
        """Refuse a verb that is called inside a callback."""
        inside = self.threads.get(threading.get_ident())
        if inside is not None:
            function, returns = inside
            raise ChatFakeError(
                f"can't call {what} from {function}: it may only read the fake and return {returns}"
            )

    def refuse_reset(self) -> None:
        """Refuse a reset while any thread is inside a callback."""
        for function, _ in list(self.threads.values()):
            raise ChatFakeError(f"can't call reset() while {function} is running")


class Responses:
    """Knows whether the running code writes a response, and to which request of one fake.

    Attributes:
        requests: The request that each thread responds to.
    """

    def __init__(self) -> None:
        self.requests: dict[int, Record] = {}

    def is_current(self) -> bool:
        """Return whether the caller is part of a response."""
        return self in _responding.get()

    @contextmanager
    def block(self, request: Record | None) -> Generator[None, None, None]:
        """Return a block that writes a response; None: its request is not in the log."""
        token = _responding.set((*_responding.get(), self))
        thread = threading.get_ident()
        outer = self.requests.get(thread)
        if request is not None:
            self.requests[thread] = request
        try:
            yield
        finally:
            _responding.reset(token)
            self.requests.pop(thread, None)
            if outer is not None:
                self.requests[thread] = outer
