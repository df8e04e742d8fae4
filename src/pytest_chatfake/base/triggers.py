"""Faults of any kind: when each fires, and the list of those that are set up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Self, TypeVar

from .arguments import check_int
from .calling_line import Line, is_in_fixture
from .history import History, Record
from .views import counted


class Trigger(Record, ABC):
    """A fault that fires ``times`` times (None: always), from the ``start``-th match on.

    Usable as a context manager, which removes it at the end.

    Attributes:
        fired: How often it fired so far.
        line: Where the test set it up.
    """

    fired: int

    def __init__(self, times: int | None, start: int, line: Line) -> None:
        self.fired = 0
        self.line = line
        self._is_shared = is_in_fixture()  # a fixture may set it up for other tests
        self._matched = 0
        self._times = None if times is None else check_int(times, "times", 1)
        self._start = check_int(start, "start", 1)
        self._is_removed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.description}, fired {counted(self.fired, 'time')}>"

    @property
    @abstractmethod
    def description(self) -> str:
        """What it is, as a test would write it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Stop the fault; changes that it made stay. Calling it again has no effect."""
        self._is_removed = True

    def _should_fire(self) -> bool:
        """Count a match, and return whether to fire on it."""
        self._matched += 1
        return self._matched >= self._start and (self._times is None or self.fired < self._times)

    def _fire(self) -> None:
        """Count that it fired."""
        self.fired += 1


_T = TypeVar("_T", bound=Trigger)


class Triggers(Generic[_T]):
    """Triggers, in the order in which they were set up.

    Args:
        history: Records each.

    Attributes:
        ever: All of them, removed or not: some may be unused.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self.ever: list[_T] = []

    @property
    def active(self) -> list[_T]:
        """Those that are not removed."""
        return [trigger for trigger in self.ever if not trigger._is_removed]

    def add(self, trigger: _T, now: int) -> _T:
        """Set a trigger up, and return it."""
        trigger.moment = now
        self._history.add(trigger)
        self.ever.append(trigger)
        return trigger

    def clear(self) -> None:
        """Forget all of them."""
        self.ever.clear()
