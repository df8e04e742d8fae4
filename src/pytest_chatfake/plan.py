"""Async mode: verbs lay steps, and ``await`` performs them; sync mode performs each at once.

A step is a generator function. Up to each ``yield`` it changes state; at the ``yield`` the events
that this caused are attempted. So the two modes run the same code, and differ only in who waits.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from .exceptions import NotAwaited

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from .callsite import Line
    from .engine import Engine

__all__ = ["Performing", "Plan", "Step"]


class Step(NamedTuple):
    """Something to perform.

    Attributes:
        run: Changes state, and yields where events are to be attempted.
        what: What it is, as the test wrote it.
        line: Where the test wrote it.
        subject: Whom it concerns, if it is one message.
    """

    run: Callable[[], Iterator[None]]
    what: str
    line: Line
    subject: object = None


class Plan:
    """The steps that were laid and not performed yet, in order.

    Attributes:
        current: The step that is being performed.
    """

    __slots__ = ("_steps", "current")

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self.current: Step | None = None

    def __bool__(self) -> bool:
        return bool(self._steps)

    def lay(self, step: Step) -> None:
        """Add a step at the end."""
        self._steps.append(step)

    def next(self) -> Step | None:
        """Take out the first step, which is current from now on; None if there is none."""
        self.current = self._steps.popleft() if self._steps else None
        return self.current

    def concerns(self, subject: object) -> bool:
        """Whether a step that is current or to come is about ``subject``."""
        if self.current is not None and self.current.subject is subject:
            return True
        return any(step.subject is subject for step in self._steps)

    def drop(self) -> None:
        """Forget all steps: sync code would never have reached those lines."""
        self._steps.clear()

    def complaint(self) -> str:
        """Say what was never awaited, and where to put the ``await``."""
        count = len(self._steps)
        first = self._steps[0].line
        return (
            f"{count} step{'s were' if count > 1 else ' was'} never awaited: "
            f"put `await` before the chain at {first}"
        )

    def refuse_reading(self) -> None:
        """Refuse to read results while steps are pending.

        Raises:
            NotAwaited: There are.
        """
        if self._steps:
            step = self._steps[0]
            raise NotAwaited(
                f"{step.what} at {step.line} was not awaited yet, so there is no result to read: "
                f"put `await` before the chain"
            )


class Performing:
    """What a verb of the clock or of the fake returns: ``await`` it in async mode."""

    __slots__ = ("_engine",)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __await__(self) -> Generator[Any, Any, None]:
        return self._engine.perform_plan().__await__()
