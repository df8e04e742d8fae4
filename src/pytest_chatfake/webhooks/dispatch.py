"""An event on its way to endpoints, and how faults change the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..base.marks import Mark
from ..transport.client.responses import Response
from .endpoints import Endpoint, Signer
from .events import Event


class Overrides(NamedTuple):
    """What faults change in a dispatch.

    Attributes:
        fault: The kind of the last fault that changed it.
        delay: How much later it starts, in nanoseconds.
        change: Changes the body after it was signed.
        signer: Signs in place of the endpoint's own.
        marks: The marks of these faults, in order.
    """

    fault: str | None = None
    delay: int = 0
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    marks: tuple[Mark, ...] = ()


_NO_OVERRIDES = Overrides()


@dataclass(slots=True, eq=False)
class Dispatch:
    """An event on its way to some endpoints.

    Attributes:
        event: The event.
        endpoints: Where it still has to go.
        depth: How many attempts led to it, each causing the next event.
        number: Which attempt this will be; 1 is the first.
        due: When it was due, in nanoseconds; None: at once.
        overrides: What faults changed.
        batch: Neighbours in the queue that have the same one are attempted at the same time.
    """

    event: Event
    endpoints: tuple[Endpoint, ...]
    depth: int
    number: int = 1
    due: int | None = None
    overrides: Overrides = _NO_OVERRIDES
    batch: object | None = None

    @property
    def is_new(self) -> bool:
        """Whether it is an event's first attempt: no retry, and not what the test sends again."""
        return self.number == 1 and all(mark.kind != "redeliver" for mark in self.overrides.marks)

    def mark(self, mark: Mark) -> None:
        """Add a mark."""
        self.overrides = self.overrides._replace(marks=(*self.overrides.marks, mark))

    def name_mark(self, kind: str, text: str) -> None:
        """Let the marks of a kind say what is known of them only now."""
        marks = [
            one._replace(text=text) if one.kind == kind else one for one in self.overrides.marks
        ]
        self.overrides = self.overrides._replace(marks=tuple(marks))


class Ready(NamedTuple):
    """A dispatch that is to be attempted now at one endpoint.

    Attributes:
        dispatch: The dispatch.
        endpoint: The endpoint.
        outcome: How the attempt ends without being made; None: it is made.
    """

    dispatch: Dispatch
    endpoint: Endpoint
    outcome: Response | None = None
