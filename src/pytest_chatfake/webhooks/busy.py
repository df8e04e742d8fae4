"""Who attempts the events of a fake: one drainer at a time, and what its claim is."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from time import sleep
from typing import Final

#: How often a thread that waits for another one's attempts looks again, in real seconds.
_GLANCE: Final = 0.001

#: The fakes of whose attempts the running code is part.
_attempting: ContextVar[tuple[Busy, ...]] = ContextVar("pytest_chatfake_attempting", default=())


class Busy(dict[int, list[int]]):
    """The drainer's claim, a list of its thread, under 0; empty while nobody attempts.

    A signal's handler may raise between any two calls: Ctrl-C, or a test's timeout. So a drainer
    holds no lock, which could stay locked. It puts a claim of its own in here, in one atomic
    operation, and takes exactly that one out again, without a call that comes before.
    """

    def mark(self) -> tuple[Busy, ...]:
        """Mark the running code as part of an attempt, and return what it was part of before."""
        outer = _attempting.get()
        if outer:  # what an interrupt left behind is not busy
            outer = tuple([one for one in outer if one is not self and one])
        _attempting.set((*outer, self))
        return outer

    def unmark(self, outer: tuple[Busy, ...]) -> None:
        """Take the mark back."""
        _attempting.set(outer)

    def is_here(self) -> bool:
        """Return whether the running code is part of an attempt."""
        return bool(self) and any(one is self for one in _attempting.get())

    def wait(self, home: int, timeout: float) -> None:
        """Let the test's own thread wait until another thread has finished.

        Args:
            home: The test's own thread. No other one waits.
            timeout: For how long, in real seconds.
        """
        here, claim = threading.get_ident(), self.get(0)
        # It can't wait for its own attempts, even where a receiver has left the context behind.
        if claim is None or here != home or here == claim[0]:
            return
        for _ in range(int(timeout / _GLANCE)):
            if self.get(0) is not claim:
                return
            sleep(_GLANCE)
