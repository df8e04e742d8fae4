"""What the parts of one fake share: its lock, time, schedule, history, scopes and errors."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..base.history import History
from ..base.scopes import Scopes
from ..domain.schedule import Schedule


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
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now: Callable[[], int] = now
        self.lock: threading.RLock = threading.RLock()
        self.schedule: Schedule = Schedule()
        self.history: History = History()
        self.scopes: Scopes = Scopes()
        self.errors: list[BaseException] = []

    def reset(self) -> None:
        """Forget what happened, and what was to happen."""
        self.schedule.clear()
        self.history.reset()
        self.errors.clear()
