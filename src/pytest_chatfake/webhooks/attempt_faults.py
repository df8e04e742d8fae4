"""Faults of attempts: what goes wrong with attempts, counted and chosen where they are made."""

from __future__ import annotations

from typing import NamedTuple

from ..base.marks import Mark
from ..domain.instants import seconds
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import FaultKind
from .faults import Fault


class Choice(NamedTuple):
    """What is to become of an attempt.

    Attributes:
        kind: How it deviates.
        steps: After how many other attempts it comes, or comes again; of a delay: nanoseconds.
        mark: What is done to it, and the line that asked for it.
        by_chance: Whether nobody misses it if it never comes again.
        pause: How much time passes before it comes again, in nanoseconds.
        fault: Who has chosen it.
    """

    kind: FaultKind
    steps: int
    mark: Mark
    by_chance: bool = False
    pause: int = 0
    fault: AttemptFault | None = None


class AttemptFault(Fault):
    """Something that goes wrong with attempts, counted where they are made.

    Each event counts once for each endpoint.
    """

    def __init__(
        self,
        kind: FaultKind,
        steps: int = 0,
        *,
        pause: int = 0,
        **where: object,
    ) -> None:
        super().__init__(kind, **where)  # type: ignore[arg-type]
        self._steps = steps
        self._pause = pause
        self._is_short = False  # a barrier came before so many others

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        by = f"by={self._steps}"
        after = f"pause={seconds(self._pause)}" if self._pause else f"after={self._steps}"
        own = {"reorder": by, "concurrently": by, "duplicate": after}.get(self.kind)
        kind, _, rest = super().description.partition("(")
        return f"{kind}({', '.join(filter(None, [own, rest.removesuffix(')')]))})"

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:  # noqa: ARG002 - it asks for neither
        """Do nothing where events are emitted."""
        return ()

    def _choice(self, event: Event, endpoint: Endpoint, *, taken: bool) -> Choice | None:
        """Count an attempt, and return what is to become of it."""
        if not (self._concerned(event, (endpoint,)) and self._should_fire()) or taken:
            return None
        self._fire()
        self._hit.append(event._index)
        kind, steps, mark = self.kind, self._steps, self._mark
        return Choice(kind, steps, mark, pause=self._pause, fault=self)
