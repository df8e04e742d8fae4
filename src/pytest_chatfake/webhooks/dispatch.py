"""An event on its way to endpoints, and what faults changed about the way."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

from ..base.marks import Mark
from .endpoints import Endpoint, Signer
from .events import Event


class Overrides(NamedTuple):
    """What faults changed about a dispatch.

    Attributes:
        fault: The kind of the last fault that changed it.
        delay: It starts that much later, in nanoseconds.
        change: It changes the body after it was signed.
        signer: It signs in place of the endpoint's own.
        marks: What was done to it, in order, and the lines that asked for it.
    """

    fault: str | None = None
    delay: int = 0
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def dropped(self) -> bool:
        """Whether it never arrives; no fault changes it after that."""
        return self.fault == "drop"


NO_OVERRIDES = Overrides()


class Dispatch:
    """An event on its way to some endpoints.

    Attributes:
        event: The event.
        endpoints: Where it goes.
        depth: How many attempts led to it, each causing the next event.
        number: Which attempt this will be.
        due: When it was due, in nanoseconds; None: at once.
        overrides: What faults changed.
    """

    __slots__ = ("depth", "due", "endpoints", "event", "number", "overrides")

    def __init__(
        self, event: Event, endpoints: tuple[Endpoint, ...], depth: int, number: int = 1
    ) -> None:
        self.event = event
        self.endpoints = endpoints
        self.depth = depth
        self.number = number
        self.due: int | None = None
        self.overrides = NO_OVERRIDES

    def mark(self, mark: Mark) -> None:
        """Note what was done to it."""
        self.overrides = self.overrides._replace(marks=(*self.overrides.marks, mark))

    def part(self, endpoints: tuple[Endpoint, ...]) -> Dispatch:
        """Return the same for these endpoints only."""
        part = copy(self)
        part.endpoints = endpoints
        return part
