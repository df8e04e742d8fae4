"""Async mode: verbs lay steps, and ``await`` performs them; sync mode performs each at once.

A step is a generator function. Up to each ``yield`` it changes state; at the ``yield`` the events
that this caused are attempted. So the two modes run the same code, and differ only in who waits.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import NotAwaited

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ..base.calling_line import Line
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

    __slots__ = ("_dropped", "_steps", "current")

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._dropped: dict[int, Step] = {}
        self.current: Step | None = None

    def __bool__(self) -> bool:
        return bool(self._steps)

    def lay(self, step: Step) -> None:
        """Add a step at the end."""
        self._dropped.pop(id(step.subject), None)
        self._steps.append(step)

    def next(self) -> Step | None:
        """Take out the first step, which is current from now on; None if there is none."""
        self.current = self._steps.popleft() if self._steps else None
        return self.current

    def concerns(self, subject: object) -> bool:
        """Whether a step that is current or to come is about ``subject``."""
        if self.current is not None and self.current.subject is subject:
            return True
        return self.is_to_begin(subject)

    def is_to_begin(self, subject: object) -> bool:
        """Whether a step to come is about ``subject``."""
        return bool(self._steps) and any(step.subject is subject for step in self._steps)

    def drop(self, keep: Sequence[object] = (), told: Sequence[object] = ()) -> None:
        """Forget the steps: sync code would never have reached those lines.

        Args:
            keep: The subjects of chains that somebody else awaits, beside the one that failed.
            told: Whose ``await`` says so anyway. Others' are refused, once: see `refuse_dropped`.
        """
        steps, self._steps = self._steps, deque()
        for step in steps:
            if any(step.subject is one for one in keep):
                self._steps.append(step)
            elif step.subject is not None and not any(step.subject is one for one in told):
                self._dropped.setdefault(id(step.subject), step)

    def refuse_dropped(self, subject: object) -> None:
        """Refuse to take a chain for performed that was dropped.

        Raises:
            NotAwaited: It was, and nothing was laid about its subject since.
        """
        step = self._dropped.pop(id(subject), None)
        if step is not None:
            raise NotAwaited(
                f"{step.what} at {step.line} was never performed: what was awaited before it "
                f"failed or was cancelled"
            )

    def drop_chain(self, subject: object) -> None:
        """Forget the steps that concern ``subject``: nobody awaits them any more."""
        self._steps = deque(step for step in self._steps if step.subject is not subject)

    def complaint(self) -> str:
        """Say what was never awaited, and where to put the ``await``."""
        count = len(self._steps)
        first = self._steps[0].line
        return (
            f"{count} step{'s were' if count > 1 else ' was'} never awaited: "
            f"put `await` before the chain at {first}"
        )

    def remainder(self) -> str:
        """Say what was not performed in a test that failed: before its ``await``, or without."""
        count = len(self._steps)
        return (
            f"{count} step{'s were' if count > 1 else ' was'} not performed, from the chain at "
            f"{self._steps[0].line} on: the test failed before its `await`, or there is none"
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
        return self._engine.performer.perform().__await__()
