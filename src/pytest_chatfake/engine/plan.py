"""The plan of async mode: steps that verbs have added, and that no ``await`` has performed yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..base.calling_line import Line
from ..base.errors import NotAwaited
from ..base.tracebacks import raised_at
from ..transport.client.loops import running_task


class PlannedStep(NamedTuple):
    """A step of the plan.

    Attributes:
        run: Changes state, and yields where events are to be attempted.
        what: The call of the test.
        line: Where that is.
        subject: The message or the wait whose ``await`` runs this step; None: neither.
        task: Whose call it is; None: that of plain code.
    """

    run: Callable[[], Iterator[None]]
    what: str
    line: Line
    subject: object = None
    task: object = None


class Plan:
    """The steps that are pending, in order.

    Attributes:
        current: The step that is being performed.
    """

    __slots__ = ("_dropped", "_steps", "current")

    def __init__(self) -> None:
        self._steps: deque[PlannedStep] = deque()
        self._dropped: dict[int, PlannedStep] = {}
        self.current: PlannedStep | None = None

    def __bool__(self) -> bool:
        return bool(self._steps)

    def enqueue(self, step: PlannedStep) -> None:
        """Add a step at the end."""
        self._dropped.pop(id(step.subject), None)
        self._steps.append(step._replace(task=running_task()))

    def next(self) -> PlannedStep | None:
        """Remove the first step, which is now the current one; None if there is none."""
        self.current = self._steps.popleft() if self._steps else None
        return self.current

    def concerns(self, subject: object) -> bool:
        """Return whether a current or pending step is about ``subject``."""
        if self.current is not None and self.current.subject is subject:
            return True
        return self.is_to_begin(subject)

    def is_to_begin(self, subject: object) -> bool:
        """Return whether a pending step is about ``subject``."""
        return any(step.subject is subject for step in self._steps)

    def drop(self, keep: Sequence[object] = (), awaited: Sequence[object] = ()) -> None:
        """Drop the steps, because sync code would never have reached those lines.

        The chains of the subjects in ``keep`` stay: other tasks await them. The own ``await`` of
        those in ``awaited`` raises; the others are refused, once, by :meth:`refuse_dropped`.
        """
        steps, self._steps = self._steps, deque()
        for step in steps:
            subject = step.subject
            if any(subject is kept for kept in keep):
                self._steps.append(step)
            elif subject is not None and not any(subject is other for other in awaited):
                self._dropped.setdefault(id(subject), step)

    def drop_chain(self, subject: object) -> None:
        """Forget the steps about ``subject``: nobody awaits them any more."""
        self._steps = deque(step for step in self._steps if step.subject is not subject)

    # Refusals and reports

    def refuse_dropped(self, subject: object) -> None:
        """Refuse an ``await`` of a dropped chain, unless a step was added to it since."""
        step = self._dropped.pop(id(subject), None)
        if step is not None:
            raise NotAwaited(
                f"{step.what} at {step.line} was skipped because an earlier await failed or was "
                f"cancelled"
            )

    def refuse_reading(self, *, own: bool) -> None:
        """Refuse to read results while steps are pending; or only those of the reading task."""
        task = running_task() if own else None
        step = next((step for step in self._steps if not own or step.task is task), None)
        if step is not None:
            raise NotAwaited(
                f"missing await at {step.line}: {step.what} was not performed yet, so there is no "
                f"result to read"
            )

    def end(self) -> None:
        """Refuse steps that were never performed, and drop them."""
        if self._steps:
            line = self._steps[0].line
            text = f"missing await at {line}: {self._steps_were()} never performed"
            self.drop()
            raise raised_at(NotAwaited(text), line)

    def remainder(self) -> str:
        """Return the text about the steps of a failed test that were not performed."""
        return (
            f"{self._steps_were()} not performed, from the chain at {self._steps[0].line} on: "
            f"the test failed before its await, or there is none"
        )

    def _steps_were(self) -> str:
        count = len(self._steps)
        return f"{count} step{'s were' if count > 1 else ' was'}"
