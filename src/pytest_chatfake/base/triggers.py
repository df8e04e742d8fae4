"""When a fault fires: from the ``start``-th chance on, ``times`` times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from .arguments import check_int
from .calling_line import Line


class Trigger(ABC):
    """Something that goes wrong on some of its chances, until it is removed.

    Usable as a context manager, which removes it at the end.

    Args:
        times: How often; None: until it is removed.
        start: From which chance on; 1 is the next.
        line: Where the test set it up.

    Attributes:
        fired: How often it fired so far.
        line: Where the test set it up.
    """

    def __init__(self, times: int | None, start: int, line: Line) -> None:
        self.fired = 0
        self.line = line
        self._chances = 0
        self._times = None if times is None else check_int(times, "times", 1)
        self._start = check_int(start, "start", 1)
        self._registry: Triggers[Any] | None = None

    @property
    @abstractmethod
    def description(self) -> str:
        """What it is, as a test would write it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Let nothing more go wrong; what it did already stays. Twice does no harm."""
        if self._registry is not None:
            self._registry.remove(self)

    def _should_fire(self) -> bool:
        """Count a chance, and return whether it is one to fire on."""
        self._chances += 1
        return self._chances >= self._start and (self._times is None or self.fired < self._times)

    def _fire(self) -> None:
        """Note that it fired."""
        self.fired += 1


_T = TypeVar("_T", bound=Trigger)


class Triggers(Generic[_T]):
    """Triggers, in the order in which they were set up.

    Attributes:
        active: Those that are set up now.
        ever: All that were set up, removed or not: some may never have fired.
    """

    __slots__ = ("active", "ever")

    def __init__(self) -> None:
        self.active: tuple[_T, ...] = ()
        self.ever: list[_T] = []

    def add(self, trigger: _T) -> _T:
        """Set a trigger up."""
        trigger._registry = self
        self.active = (*self.active, trigger)
        self.ever.append(trigger)
        return trigger

    def remove(self, trigger: _T) -> None:
        """Take a trigger out, if it is in."""
        self.active = tuple(one for one in self.active if one is not trigger)

    def clear(self) -> None:
        """Forget all of them."""
        self.active = ()
        self.ever.clear()
