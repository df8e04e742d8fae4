"""Who observes a fake: the seam by which an extra sees what is attempted, and when a test looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..transport.client.responses import Response
from .attempts import Attempt
from .attending import Attend


class Observer(Protocol):
    """Sees what a fake attempts, in order, and compares snapshots of its apps with others.

    What happens in an observed fake depends on no real time: ``wait_until()`` attempts only what
    was delayed.

    Attributes:
        attend: Makes an attendant for each new attempt at an app in process; None: for none.
    """

    attend: Attend | None

    @property
    def may_lose_all(self) -> bool:
        """Whether it is no error if no event was taken, so that a check has nothing to do."""
        ...

    def begins(self) -> None:
        """See that an attempt begins, unless a fault delays it."""
        ...

    def ended(self, attempt: Attempt, choice: int, response: Response) -> None:
        """See how an attempt has ended.

        Args:
            attempt: The attempt.
            choice: The number of its choice; 0: it is none, and no repeat or retry of one.
            response: The app's response, before a fault has changed it.
        """
        ...

    def barrier(self) -> None:
        """See that the test looks: what was delayed is attempted now."""
        ...

    def flushed(self, now: int) -> None:
        """See that all was attempted at a barrier."""
        ...

    def waited(self, began: int, now: int) -> None:
        """See that ``settle()`` has moved the clock by itself."""
        ...

    async def compare(self, snapshot: Callable[[], Any]) -> None:
        """Take a snapshot and compare it, for ``assert_order_independent()``."""
        ...
