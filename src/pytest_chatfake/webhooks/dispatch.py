"""An event on its way to endpoints, and what faults changed about the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..base.errors import UndeliveredWebhooks
from ..base.marks import Mark
from .endpoints import Endpoint, Signer
from .events import Event


class Overrides(NamedTuple):
    """What faults changed about a dispatch.

    Attributes:
        fault: The kind of the last fault that changed it.
        delay: How much later it starts, in nanoseconds.
        change: Changes the body after it was signed.
        signer: Signs in place of the endpoint's own.
        marks: What was done to it, in order, and the lines that asked for it.
    """

    fault: str | None = None
    delay: int = 0
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    marks: tuple[Mark, ...] = ()


_NO_OVERRIDES = Overrides()


@dataclass(slots=True, eq=False)
class Group:
    """Attempts that wait for each other.

    Attributes:
        left: How many are to come yet.
    """

    left: int


@dataclass(slots=True, eq=False)
class Dispatch:
    """An event on its way to some endpoints.

    Attributes:
        event: The event.
        endpoints: Where it goes.
        depth: How many attempts led to it, each causing the next event.
        number: Which attempt this will be; 1 is the first.
        due: When it was due, in nanoseconds; None: at once.
        overrides: What faults changed.
        group: What it waits for, to be attempted at the same time; None: nothing.
    """

    event: Event
    endpoints: tuple[Endpoint, ...]
    depth: int
    number: int = 1
    due: int | None = None
    overrides: Overrides = _NO_OVERRIDES
    group: Group | None = None

    def mark(self, mark: Mark) -> None:
        """Note what was done to it."""
        self.overrides = self.overrides._replace(marks=(*self.overrides.marks, mark))


#: How far events may cause each other, attempt by attempt, before that counts as endless.
MAX_DEPTH: Final = 10_000


def endless(dispatch: Dispatch) -> UndeliveredWebhooks:
    """Return the error that events cause each other without an end, at one of them."""
    return UndeliveredWebhooks(
        f"{MAX_DEPTH} attempts in a row have each caused another event, the last one at "
        f"{dispatch.event.line}: does the receiver send a message for every event it gets?"
    )
