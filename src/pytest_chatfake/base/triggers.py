"""When a fault fires: from the ``start``-th occasion on, ``times`` times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from .arguments import whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .calling_line import Line

__all__ = ["Occasions"]


class Occasions(ABC):
    """Something that goes wrong on some occasions, until it is removed.

    Usable as a context manager, which removes it at the end.

    Args:
        times: How often; None: until it is removed.
        start: From which occasion on; 1 is the next.
        line: Where the test set it up.
        remove: Takes it out of where it was put.

    Attributes:
        fired: How often it fired so far.
        line: Where the test set it up.
    """

    def __init__(
        self,
        times: int | None,
        start: int,
        line: Line,
        remove: Callable[[Any], None],
    ) -> None:
        self.fired = 0
        self.line = line
        self._met = 0
        self._times = None if times is None else whole(times, "times", 1)
        self._start = whole(start, "start", 1)
        self._remove = remove

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
        self._remove(self)

    def _meet(self) -> bool:
        """Count an occasion, and return whether it is one to fire on."""
        self._met += 1
        return self._met >= self._start and (self._times is None or self.fired < self._times)

    def _fire(self) -> None:
        """Note that it fired."""
        self.fired += 1
