"""Observers: how an extra sees what a fake attempts, and when the test looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..transport.client.responses import Response
from .attempts import Attempt
from .attending import Attend


class Observer(Protocol):
    """Sees what a fake attempts, in order, and compares snapshots of its apps.

    In an observed fake nothing depends on real time: ``wait_until()`` attempts only what was
    delayed.

    Attributes:
        attend: Makes an attendant for each new attempt at an app in process; None for none.
    """

    attend: Attend | None

    @property
    def may_lose_all(self) -> bool:
        """Whether a check may have nothing to do, because no event was accepted."""
        ...

    def begins(self) -> None:
        """An attempt begins, unless a fault delays it."""
        ...

    def ended(self, attempt: Attempt, choice: int, response: Response) -> None:
        """An attempt has ended.

        Args:
            attempt: The attempt.
            choice: The number of the first attempt that it is, repeats or retries; 0 for none.
            response: The app's response, before a fault changes it.
        """
        ...

    def barrier(self) -> None:
        """The test looks, so what was delayed is attempted now."""
        ...

    def flushed(self, now: int) -> None:
        """Everything was attempted at a barrier."""
        ...

    def waited(self, began: int, now: int) -> None:
        """``settle()`` has moved the clock by itself."""
        ...

    async def compare(self, snapshot: Callable[[], Any]) -> None:
        """Take a snapshot and compare it, for ``assert_order_independent()``."""
        ...
