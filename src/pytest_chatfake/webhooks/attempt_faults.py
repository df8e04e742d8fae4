"""Faults of attempts, counted and chosen where the attempts are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import NamedTuple

from ..base.marks import Mark
from ..domain.instants import seconds
from ..transport.client.crash_watch import CrashPoint
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import FaultKind
from .faults import Fault


class FaultHit(NamedTuple):
    """What a fault does with an attempt.

    Attributes:
        kind: The kind of the fault.
        steps: After how many other attempts it is made, or repeated.
        mark: The mark of the attempt.
        pause: How much time passes before it, or before its repeat, in nanoseconds.
        fault: The fault; None: one by chance.
        past_barriers: Whether a repeat waits for so many others, barriers or not.
        new_id: Whether a repeat has another event id.
    """

    kind: FaultKind
    steps: int
    mark: Mark
    pause: int = 0
    fault: AttemptFault | None = None
    past_barriers: bool = False
    new_id: bool = False


class AttemptFault(Fault):
    """A fault of attempts: each event counts once for each endpoint, at its first attempt."""

    def __init__(
        self,
        kind: FaultKind,
        steps: int = 0,
        *,
        pause: int = 0,
        past_barriers: bool = False,
        new_id: bool = False,
        **where: object,
    ) -> None:
        super().__init__(kind, **where)  # type: ignore[arg-type]
        self._steps = steps
        self._pause = pause
        self._past_barriers = past_barriers
        self._new_id = new_id
        self._more = f" {seconds(pause)} s" if kind == "delay" else ", new id" * new_id
        self._is_short = False  # a barrier came before so many others

    def _own_arguments(self) -> Iterator[str]:
        """Write the arguments that are those of its kind alone."""
        by, length = f"by={self._steps}", seconds(self._pause)
        after = f"pause={length}" if self._pause else f"after={self._steps}"
        after += ", past_barriers=True" * self._past_barriers + ", new_id=True" * self._new_id
        own = {"reorder": by, "concurrently": by, "duplicate": after, "delay": length}
        yield from filter(None, [own.get(self.kind)])

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:  # noqa: ARG002 - it asks for neither
        """Do nothing where events are emitted."""
        return ()

    def _hit(self, event: Event, endpoint: Endpoint, *, taken: bool) -> FaultHit | None:
        """Count an attempt; return what to do with it, unless another fault has taken it."""
        if not (self._concerned(event, (endpoint,)) and self._should_fire()) or taken:
            return None
        self._fire()
        kind, steps, mark = self.kind, self._steps, self._mark
        if kind == "delay" and mark not in event._marks:
            event._marks += (mark,)
        return FaultHit(kind, steps, mark, self._pause, self, self._past_barriers, self._new_id)


class CrashFault(AttemptFault):
    """A crash of the app in the middle of an attempt.

    Attributes:
        point: Where.
        functions: The function that the point names, with its name; none, if it is a line.
    """

    def __init__(
        self,
        kind: FaultKind,
        steps: int = 0,
        *,
        point: CrashPoint,
        functions: Mapping[FunctionType, str],
        **where: object,
    ) -> None:
        super().__init__(kind, steps, **where)  # type: ignore[arg-type]
        self.point = point
        self.functions = functions

    def _own_arguments(self) -> Iterator[str]:
        """Write the arguments that are those of its kind alone."""
        yield f"{self.point.kind}={self.point.name!r}"
        if self.point.nth != 1:
            yield f"nth={self.point.nth}"
