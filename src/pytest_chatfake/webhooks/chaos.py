"""Chaos with a seed: for campaigns that are too long for every world to be tried."""

from __future__ import annotations

import random
from typing import Any, Final

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.views import counted
from ..domain.instants import SECOND
from .attempt_faults import AttemptFault, Choice
from .endpoints import Endpoint
from .events import Event

#: Past how many attempts a repeat or a late attempt goes, at most.
_FAR: Final = 3


class Chaos(AttemptFault):
    """Attempts that go wrong by chance, the same chance for the same seed.

    What becomes of an attempt depends on the seed and on its number alone. So a run is the same in
    both modes, alone or beside others.

    Args:
        seed: What chance is derived from.
        chances: How likely an attempt is refused, loses its answer, comes again, or comes late: in
            this order, the first that happens counts.
        delay: How long an attempt may be delayed if nothing else happens to it, in nanoseconds.
        line: Where the test set it up.
    """

    def __init__(self, seed: int | str, chances: dict[str, float], delay: int, line: Line) -> None:
        everything: dict[str, Any] = dict.fromkeys(("message", "status", "endpoint", "type"))
        super().__init__("chaos", times=None, start=1, line=line, **everything)
        self._seed = seed
        self._chances_of = chances
        self._delay = delay
        self._happened: list[str] = []

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        given = [f"{name}={chance:g}" for name, chance in self._chances_of.items() if chance]
        if self._delay:
            given.append(f"delay={self._delay / SECOND:g}")
        return f"chaos({', '.join([f'seed={self._seed!r}', *given])})"

    @property
    def happened(self) -> tuple[str, ...]:
        """What went wrong so far, in order: ``reorder(by=2) at delivered of message ...``."""
        return tuple(self._happened)

    def __exit__(self, *exc_info: object) -> None:
        """Remove it; an error that leaves its block is told the seed and what went wrong."""
        super().__exit__(*exc_info)
        error = exc_info[1] if len(exc_info) > 1 else None
        if isinstance(error, Exception):
            head = f"{self.description}, fired {counted(self.fired, 'time')}:"
            error.add_note("\n  ".join([head, *self._happened]))

    def _choice(self, event: Event, endpoint: Endpoint, *, taken: bool) -> Choice | None:  # noqa: ARG002 - all endpoints are alike
        """Count an attempt, and return what chance makes of it."""
        if not self._should_fire() or taken:
            return None
        chance = random.Random(f"{self._seed} {self._chances}")  # noqa: S311 - repeatable, not secret
        # All are drawn for each attempt, so that one likelihood does not change another's luck.
        drawn = {
            name: chance.random() for name in ("refuse", "lose_response", "duplicate", "reorder")
        }
        steps, part = chance.randrange(_FAR + 1), chance.random()
        hit = next((name for name in drawn if drawn[name] < self._chances_of[name]), None)
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
            return self._make(event, "delay", delay, f"delay({delay // SECOND})")
        return None

    def _make(self, event: Event, kind: Any, steps: int, text: str) -> Choice:
        self._fire()
        self._hit.append(event._index)
        self._happened.append(f"{text} at {event._subject}")
        mark = Mark(kind, f"chaos: {text}", self.line)
        return Choice(kind, steps, mark, by_chance=True)
