"""Random faults with a seed, for bodies that are too long to explore every world."""

from __future__ import annotations

import random
from typing import Any, Final

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.views import counted
from ..domain.instants import SECOND
from .endpoints import Endpoint
from .events import Event
from .faults import Fault, FaultHit

#: How many other attempts come before a repeat or a late attempt, at most.
_FAR: Final = 3

#: How many faults a failure lists.
_SHOWN: Final = 10


class Chaos(Fault):
    """Random faults of attempts, the same for the same seed.

    They depend on the seed and on the number of the attempt alone. So a run is the same in both
    modes, alone or beside others.

    Args:
        seed: Decides all draws.
        probabilities: How likely an attempt is refused, loses its response, is repeated, or comes
            late. At most one happens, the first in this order.
        delay: The longest delay of an attempt to which none of these happens, in nanoseconds.
        line: Where the test set it up.
    """

    def __init__(
        self, seed: int | str, probabilities: dict[str, float], delay: int, line: Line
    ) -> None:
        everything: dict[str, Any] = dict.fromkeys(("message", "status", "endpoint", "type"))
        super().__init__("chaos", times=None, start=1, line=line, **everything)
        self._seed = seed
        self._probabilities = probabilities
        self._delay = delay
        self._happened: list[str] = []

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        given = [
            f"{name}={probability:g}"
            for name, probability in self._probabilities.items()
            if probability
        ]
        if self._delay:
            given.append(f"delay={self._delay / SECOND:g}")
        return f"chaos({', '.join([f'seed={self._seed!r}', *given])})"

    @property
    def happened(self) -> tuple[str, ...]:
        """The faults so far, in order: ``reorder(by=2) at delivered of message ...``."""
        return tuple(self._happened)

    def __exit__(self, *exc_info: object) -> None:
        """Remove it, and add the seed and the faults to an error that leaves its block."""
        super().__exit__(*exc_info)
        _, error, _ = exc_info
        if isinstance(error, Exception):
            head = f"{self.description}, fired {counted(self.fired, 'time')}:"
            more = self.fired - _SHOWN
            rest = [f"... and {more:,} more: see its `happened`"] if more > 0 else []
            error.add_note("\n  ".join([head, *self._happened[:_SHOWN], *rest]))

    def _hit(self, event: Event, endpoint: Endpoint, *, taken: bool) -> FaultHit | None:  # noqa: ARG002 - all endpoints are alike
        """Count an attempt, and return a random choice."""
        if not self._should_fire() or taken:
            return None
        generator = random.Random(f"{self._seed} {self._matched}")  # noqa: S311 - repeatable, not secret
        # All are drawn for each attempt, so that one probability does not change another's draw.
        drawn = {
            name: generator.random() for name in ("refuse", "lose_response", "duplicate", "reorder")
        }
        steps, part = generator.randrange(_FAR + 1), generator.random()
        hit = next((name for name in drawn if drawn[name] < self._probabilities[name]), None)
        if hit == "refuse":
            return self._make(event, "refuse", 0, "refuse()")
        if hit == "lose_response":
            return self._make(event, "lose_response", 0, "lose_response()")
        if hit == "duplicate":
            return self._make(event, "duplicate", steps, f"duplicate(after={steps})")
        if hit == "reorder":
            by = max(1, steps)
            return self._make(event, "reorder", by, f"reorder(by={by})")
        delay = int(self._delay * part) // SECOND * SECOND
        if delay:
            return self._make(event, "delay", 0, f"delay({delay // SECOND})", delay)
        return None

    def _make(self, event: Event, kind: Any, steps: int, text: str, pause: int = 0) -> FaultHit:
        self._fire()
        self._happened.append(f"{text} at {event._subject}")
        mark = Mark(kind, f"chaos: {text}", self.line)
        return FaultHit(kind, mark, self, steps, pause)
