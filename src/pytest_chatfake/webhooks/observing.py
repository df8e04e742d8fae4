"""Observers: with them, an extra follows a fake's attempts and barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..transport.client.responses import Response
from .attempts import Attempt
from .attending import Attend


class Observer(Protocol):
    """Follows a fake's attempts, in order, and compares snapshots of its apps.

    In an observed fake, nothing depends on real time: ``wait_until()`` only attempts what was
    delayed.

    Attributes:
        attend: Makes an attendant for each new attempt at an in-process app; None: no attendants.
    """

    attend: Attend | None

    @property
    def expects_events(self) -> bool:
        """Whether a check is an error if it has nothing to do, because no event was accepted."""
        ...

    @property
    def remark(self) -> str:
        """What reports add to a refusal of the app; empty if there is nothing to add."""
        ...

    def begins(self, attempt: Attempt) -> None:
        """Called before the faults are asked about an attempt, and at its turn if that is later."""
        ...

    def ended(self, attempt: Attempt, response: Response) -> None:
        """Called when an attempt has ended, with the app's response before a fault changes it."""
        ...

    def barrier(self) -> None:
        """Called at a barrier, before delayed attempts are made."""
        ...

    def flushed(self, now: int) -> None:
        """Called when everything was attempted at a barrier."""
        ...

    def waited(self, began: int, now: int) -> None:
        """Called when ``settle()`` has moved the clock by itself."""
        ...

    async def compare(self, snapshot: Callable[[], Any]) -> None:
        """Take a snapshot and compare it, for ``assert_order_independent()``."""
        ...
