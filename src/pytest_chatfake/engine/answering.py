"""Answers: code that is part of one, such as a user's route, and which request it answers."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

#: The fakes that answer a request in the running code: their webhooks must wait.
ANSWERING: ContextVar[tuple[Answering, ...]] = ContextVar("pytest_chatfake_answering", default=())


class Answering:
    """Knows whether the running code is part of an answer of one fake.

    Attributes:
        requests: By threads: the place of the request that each answers.
    """

    __slots__ = ("requests",)

    def __init__(self) -> None:
        self.requests: dict[int, int] = {}

    def is_here(self) -> bool:
        """Return whether the caller is part of an answer."""
        return self in ANSWERING.get()

    @contextmanager
    def block(self, request: int | None) -> Generator[None, None, None]:
        """Return a block that answers a request.

        Args:
            request: Its place in the log of requests; None if it is not there.
        """
        token = ANSWERING.set((*ANSWERING.get(), self))
        thread = threading.get_ident()
        outer = self.requests.get(thread)
        if request is not None:
            self.requests[thread] = request
        try:
            yield
        finally:
            ANSWERING.reset(token)
            self.requests.pop(thread, None)
            if outer is not None:
                self.requests[thread] = outer
