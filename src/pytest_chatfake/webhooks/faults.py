"""Faults of webhooks: what goes wrong on the way to an endpoint because a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.messages import MessageState
from .attending import Attend
from .endpoints import Endpoint, Signer
from .events import Event
from .fault_kinds import FaultKind, effect_of


class FaultHit(NamedTuple):
    """What a fault does with an attempt.

    Attributes:
        kind: The kind of the fault.
        mark: The mark of the attempt, or of its repeat.
        fault: The fault.
        steps: After how many other attempts it is made, or repeated.
        pause: How much time passes before it, or before its repeat, in nanoseconds.
        past_barriers: Whether a repeat waits for so many others, barriers or not.
        new_id: Whether a repeat has another event id.
        evolve: Gives a field in the service's own body an unknown value.
        change: Changes the body after it was signed.
        signer: Signs in place of the endpoint's own.
        attend: Makes what attends the attempt, and ends it or raises an error in the app.
    """

    kind: FaultKind
    mark: Mark
    fault: Fault
    steps: int = 0
    pause: int = 0
    past_barriers: bool = False
    new_id: bool = False
    evolve: Callable[[bytes], bytes] | None = None
    change: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    attend: Attend | None = None


class Fault(Trigger):
    """A fault of matching events, as ``webhooks.duplicate()`` and others return it.

    An event counts once for each endpoint, at its first attempt there. Retries and repeats do not
    count, nor does what ``redeliver()`` sends again.

    Attributes:
        kind: The name of the method that set it up.
    """

    def __init__(
        self,
        kind: FaultKind,
        arguments: str = "",
        *,
        times: int | None,
        start: int,
        message: MessageState | None,
        status: str | None,
        endpoint: Endpoint | None,
        type: str | None,  # noqa: A002 - as §2.2 names it
        line: Line,
        details: str = "",
        **how: Any,
    ) -> None:
        super().__init__(times, start, line)
        self.kind: FaultKind = kind
        self._arguments = arguments  # those of its kind alone, as a test would write them
        self._of_message = message
        self._status = status
        self._endpoint = endpoint
        self._type = type
        self._is_short = False  # a barrier came before as many attempts as it waited for
        mark = Mark(kind, effect_of(kind).mark + details, line)
        self._own_hit = FaultHit(kind, mark, self, **how)

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        limits = {
            "message": self._of_message and (self._of_message.id or "a message"),
            "status": self._status,
            "type": self._type,
            "endpoint": self._endpoint and self._endpoint._shown,
            "start": self._start if self._start != 1 else None,
        }
        arguments = [f"{name}={value!r}" for name, value in limits.items() if value is not None]
        if self._times != (None if self.kind == "evolve" else 1):
            arguments.append(f"times={self._times}")
        return f"{self.kind}({', '.join(filter(None, [self._arguments, *arguments]))})"

    def _hit(self, event: Event, endpoint: Endpoint, *, taken: bool) -> FaultHit | None:
        """Count a first attempt; return what to do with it, if anything.

        Args:
            event: What is attempted.
            endpoint: Where.
            taken: Whether it belongs to another fault, or to a batch: only a fault that combines
                with others fires then.
        """
        if not (self._concerns(event, endpoint) and self._should_fire()):
            return None
        if taken and not effect_of(self.kind).combines:
            return None
        self._fire()
        mark = self._own_hit.mark
        if self.kind == "delay" and mark not in event._marks:
            event._marks += (mark,)
        return self._own_hit

    def _concerns(self, event: Event, endpoint: Endpoint) -> bool:
        """Return whether an event matches at an endpoint."""
        return (
            self._type in (None, event.type)
            and self._status in (None, event.status)
            and self._of_message in (None, event._message)
            and self._endpoint in (None, endpoint)
        )
