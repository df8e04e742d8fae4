"""Code of the user's that runs inside the fake, and what it may do there.

A *callback* is a function of the configuration (a price, ``extra=``, an autopilot's length), which
is called in the middle of a verb: it may read the fake, and change nothing. A *response* is what a
user's route is writing: its verbs act at once, and their events wait in the queue, because the app
may be waiting for that very response.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ..base.errors import ChatFakeError

T = TypeVar("T")

#: The fakes to whose requests the running code writes a response.
_responding: ContextVar[tuple[Responses, ...]] = ContextVar(
    "pytest_chatfake_responding", default=()
)


class Callbacks:
    """Knows which threads are inside a function of the configuration.

    Attributes:
        threads: The function that each thread is in, and what that is to return.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self.threads: dict[int, tuple[str, str]] = {}

    def call(self, function: str, returns: str, call: Callable[[], T]) -> T:
        """Call a function, and return what it returns."""
        thread = threading.get_ident()
        self.threads[thread] = (function, returns)
        try:
            self._lock.release()
            return call()
        finally:
            self._lock.acquire()
            del self.threads[thread]

    def refuse_verb(self, what: str) -> None:
        """Refuse a verb that such a function calls."""
        inside = self.threads.get(threading.get_ident())
        if inside is not None:
            function, returns = inside
            raise ChatFakeError(
                f"can't call {what} from {function}: it may only read the fake and return {returns}"
            )

    def refuse_reset(self) -> None:
        """Refuse to begin anew while any thread is inside such a function."""
        for function, _ in list(self.threads.values()):
            raise ChatFakeError(f"can't call reset() while {function} is running")


class Responses:
    """Knows whether the running code writes a response, and to which request of one fake.

    Attributes:
        requests: The place of the request that each thread responds to.
    """

    def __init__(self) -> None:
        self.requests: dict[int, int] = {}

    def is_current(self) -> bool:
        """Return whether the caller is part of a response."""
        return self in _responding.get()

    @contextmanager
    def block(self, request: int | None) -> Generator[None, None, None]:
        """Return a block that writes a response."""
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
