"""An event on its way to endpoints, and what faults did to it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..fake.config import Signer
    from .endpoints import Endpoint
    from .events import Event

__all__ = ["Dispatch", "Twist"]


class Twist(NamedTuple):
    """What faults did to a dispatch.

    Attributes:
        fault: The kind of the last fault that shaped it.
        delay: It starts that much later, in nanoseconds.
        change: It changes the body after it was signed.
        signer: It signs in place of the endpoint's own.
    """

    fault: str | None = None
    delay: int = 0
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None

    @property
    def dropped(self) -> bool:
        """Whether it never arrives; no fault shapes it after that."""
        return self.fault == "drop"


_STRAIGHT = Twist()


class Dispatch:
    """An event on its way to some endpoints.

    Attributes:
        event: The event.
        endpoints: Where it goes.
        depth: How many attempts led to it, each causing the next event.
        number: Which attempt this will be.
        due: When it was due, in nanoseconds; None: at once.
        moment: When it was attempted, in nanoseconds: when it was due, if time jumped over that.
        twist: What faults did to it.
    """

    __slots__ = ("depth", "due", "endpoints", "event", "moment", "number", "twist")

    def __init__(
        self, event: Event, endpoints: tuple[Endpoint, ...], depth: int, number: int = 1
    ) -> None:
        self.event = event
        self.endpoints = endpoints
        self.depth = depth
        self.number = number
        self.due: int | None = None
        self.moment = 0
        self.twist = _STRAIGHT

    def part(self, endpoints: tuple[Endpoint, ...]) -> Dispatch:
        """Return the same for these endpoints only."""
        part = copy(self)
        part.endpoints = endpoints
        return part
