"""An event on its way to an endpoint, and how faults change the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..base.history import Record
from ..base.marks import Mark
from ..domain.ids import other_id
from ..transport.client.responses import Response
from .attempts import Attempt
from .endpoints import Endpoint, Signer
from .events import Event, under_id
from .faults import FaultHit


class Overrides(NamedTuple):
    """What faults change in a dispatch.

    Attributes:
        fault: The kind of the last fault that changed it.
        change: Changes the body after it was signed.
        signer: Signs in place of the endpoint's own.
        marks: The marks of these faults, in order.
    """

    fault: str | None = None
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    marks: tuple[Mark, ...] = ()


_NO_OVERRIDES = Overrides()


@dataclass(slots=True, eq=False)
class Dispatch:
    """An event on its way to an endpoint.

    Attributes:
        event: The event.
        endpoint: Where it goes.
        body: What it posts: the bytes, as the service itself writes them.
        id: The event's id in them.
        depth: How many attempts led to it, each causing the next event.
        number: Which attempt this will be; 1 is the first.
        retries: How many of its endpoint's own retries it has had, this one included.
        due: When it was due, in nanoseconds; None: at once.
        overrides: What faults changed.
        batch: Neighbours in the queue that have the same one are attempted at the same time.
        cause: The failed attempt or the verb that caused it; None: the event itself.
        is_redelivered: Whether the test attempts a past event again: no fault concerns that.
        repeats: The faults that repeat its attempt, once it is made.
        failure: The fault by which its attempt fails; None: none.
        outcome: How its attempt ends without being made; None: it is made.
        is_evolved: Whether a later version of the service writes the body.
        known: The body before a field had an unknown value; None: no field has.
    """

    event: Event
    endpoint: Endpoint
    body: bytes
    id: str
    depth: int = 0
    number: int = 1
    retries: int = 0
    due: int | None = None
    overrides: Overrides = _NO_OVERRIDES
    batch: object | None = None
    cause: Record | None = None
    is_redelivered: bool = False
    repeats: tuple[FaultHit, ...] = ()
    failure: FaultHit | None = None
    outcome: Response | None = None
    is_evolved: bool = False
    known: bytes | None = None

    @property
    def is_new(self) -> bool:
        """Whether faults concern it: it is no retry, and no past event."""
        return self.number == 1 and not self.is_redelivered

    @property
    def is_changed(self) -> bool:
        """Whether it posts something other than the event as it was emitted."""
        return self.is_evolved or (self.body, self.id) != (self.event.body, self.event.id)

    @property
    def is_wanted(self) -> bool:
        """Whether its endpoint still gets it: a disabled one gets no retries."""
        return self.endpoint.connected and not (self.endpoint.disabled and self.number > 1)

    def again(self, failed: Attempt, retries: int) -> Dispatch:
        """Return its next attempt after a failed one: the same bytes, without faults."""
        return Dispatch(
            self.event,
            self.endpoint,
            self.body,
            self.id,
            self.depth,
            self.number + 1,
            retries,
            cause=failed,
            is_evolved=self.is_evolved,
            known=self.known,
        )

    def change(self, hit: FaultHit) -> None:
        """Change it as a fault asks for."""
        before = self.overrides
        if hit.evolve is not None:
            body = hit.evolve(self.body)
            if body == self.body:
                hit.fault.fired -= 1  # the event has no such field
                return
            self.known, self.body = self.body, body
        self.overrides = Overrides(
            fault=hit.kind,
            change=hit.change or before.change,
            signer=hit.signer or before.signer,
            marks=(*before.marks, hit.mark),
        )
        if hit.kind == "evolve" and hit.evolve is None:
            self.is_evolved = True
        if hit.new_id:
            self.put_under_id(other_id(self.id))

    def put_under_id(self, new: str) -> None:
        """Give what it posts another event id."""
        self.body, self.id = under_id(self.body, self.id, new), new

    def mark(self, *marks: Mark) -> None:
        """Add marks."""
        if marks:
            self.overrides = self.overrides._replace(marks=self.overrides.marks + marks)

    def name_mark(self, kind: str, text: str) -> None:
        """Replace the text of the marks of a kind."""
        marks = [
            mark._replace(text=text) if mark.kind == kind else mark for mark in self.overrides.marks
        ]
        self.overrides = self.overrides._replace(marks=tuple(marks))
