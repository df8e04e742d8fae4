"""Async mode's plan: the steps of verbs that no ``await`` has performed yet."""

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
        run: Changes state, and yields where events should be attempted.
        what: The call, as the test wrote it.
        line: The line of that call.
        subject: The message whose ``await`` performs this step, or the coroutine function of a
            check or a wait, which only its own ``await`` runs, or None.
        task: The task that made the call; None for plain code.
    """

    run: Callable[[], Iterator[None]]
    what: str
    line: Line
    subject: object = None
    task: object = None


class Plan:
    """The pending steps, in order.

    Attributes:
        current: The step that is being performed now.
        unawaited: The steps of checks and waits that were not awaited yet, by their coroutine
            functions. Other awaits perform such a step, but don't check or wait.
    """

    def __init__(self) -> None:
        self._steps: deque[PlannedStep] = deque()
        self.unawaited: dict[object, PlannedStep] = {}
        self._refused: dict[object, str] = {}  # why, by subject
        self.current: PlannedStep | None = None

    def __bool__(self) -> bool:
        return bool(self._steps)

    def enqueue(self, step: PlannedStep) -> None:
        self._refused.pop(step.subject, None)
        step = step._replace(task=running_task())
        self._steps.append(step)
        if callable(step.subject):
            self.unawaited[step.subject] = step

    def next(self) -> PlannedStep | None:
        """Remove the first step and make it the current one; None if the plan is empty."""
        self.current = self._steps.popleft() if self._steps else None
        return self.current

    def concerns(self, subject: object) -> bool:
        """Return whether a current or pending step is about ``subject``."""
        if self.current is not None and self.current.subject is subject:
            return True
        return self.is_pending(subject)

    def is_pending(self, subject: object) -> bool:
        """Return whether a step about ``subject`` is pending."""
        return any(step.subject is subject for step in self._steps)

    def drop(
        self,
        keep: Sequence[object] = (),
        awaited: Sequence[object] = (),
        failed: PlannedStep | None = None,
    ) -> None:
        """Drop the steps, because sync code would never have reached those lines.

        Args:
            keep: Subjects whose steps stay, because other tasks await them.
            awaited: Subjects whose own ``await`` raises now. An ``await`` of any other chain that
                failed or was dropped is refused later, once, by :meth:`refuse_dropped`.
            failed: The step that raised.
        """
        if failed is not None:
            self._refuse(failed, awaited, "failed in another await")
        steps, self._steps = self._steps, deque()
        for step in steps:
            if any(step.subject is kept for kept in keep):
                self._steps.append(step)
            else:
                why = "was skipped because an earlier await failed or was cancelled"
                self._refuse(step, awaited, why)

    def _refuse(self, step: PlannedStep, awaited: Sequence[object], why: str) -> None:
        self.unawaited.pop(step.subject, None)
        if step.subject is not None and not any(step.subject is other for other in awaited):
            self._refused.setdefault(step.subject, f"{step.what} at {step.line} {why}")

    def drop_chain(self, subject: object, task: object = None) -> None:
        """Forget a task's steps about ``subject``, because their ``await`` was cancelled.

        A chain about a message is awaited as a whole. What is about none is each task's own.
        """
        self._steps = deque(
            step
            for step in self._steps
            if step.subject is not subject or (subject is None and step.task is not task)
        )

    # Refusals and reports

    def refuse_dropped(self, subject: object) -> None:
        """Raise a NotAwaited for a failed or dropped chain, unless it has a new step since."""
        if (text := self._refused.pop(subject, None)) is not None:
            raise NotAwaited(text)

    def refuse_reading(self, *, own: bool) -> None:
        """Raise a NotAwaited while steps are pending; with ``own``, only for this task's steps."""
        task = running_task() if own else None
        step = next((step for step in self._steps if not own or step.task is task), None)
        if step is not None:
            raise NotAwaited(
                f"missing await at {step.line}: {step.what} was not performed yet, so there is no "
                f"result to read"
            )

    def end(self) -> None:
        """Raise a NotAwaited at the first step that was never performed, and drop all steps."""
        self._steps = deque(dict.fromkeys([*self._steps, *self.unawaited.values()]))
        if self._steps:
            line = self._steps[0].line
            text = f"missing await at {line}: {self._steps_were()} never performed"
            self.drop()
            raise raised_at(NotAwaited(text), line)

    def remainder(self) -> str:
        """Return what a failed test's report says about steps that were not performed."""
        return (
            f"{self._steps_were()} not performed, starting with the chain at "
            f"{self._steps[0].line}: the test failed before awaiting it, or never awaits it"
        )

    def _steps_were(self) -> str:
        count = len(self._steps)
        return f"{count} step{'s were' if count > 1 else ' was'}"
