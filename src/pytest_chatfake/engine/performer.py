"""Async mode: the first task that awaits a chain performs the plan, for all tasks.

Theory of operation
-------------------
A verb only adds a *step* to the plan. A step is a generator: it changes state up to each ``yield``,
where the resulting events are attempted. Sync mode runs the same generator at once
(:meth:`.Engine.step`), so both modes share the rules, the order and the bytes.

*One performs.* The task that awaits first performs every pending step, including those of other
tasks, in the order in which they were added: change state, attempt, go on. Another task that awaits
meanwhile goes on at once if no step about its message is left; otherwise it waits until the first
task has performed the whole plan or, if that stops early, performs the rest itself. If a waiting
task is cancelled, the steps about its message are dropped; of those about no message, such as
``top_up()``, only its own.

*Inside.* Code inside an attempt or a response, such as a receiver that calls back, would wait for
itself. So its verbs act at once, and its ``await`` returns at once.

*Failure.* An exception, a refusal or a cancellation drops the rest of the plan, because sync code
would never have reached those lines. Chains that other tasks are waiting for are kept, unless the
step that failed was theirs. Awaiting a failed or dropped chain later raises
:class:`.NotAwaited`, once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from ..base.errors import NotAwaited
from ..transport.client.loops import checkpoint, new_event, running_task
from ..webhooks.core import Core
from ..webhooks.drain import Drain
from .plan import Plan, PlannedStep

T = TypeVar("T")

#: The error for an ``await`` in sync mode.
_NOTHING_TO_AWAIT = (
    "there is nothing to await: this fake is in sync mode, where verbs act at once. "
    "Remove `await`, or make the test `async def`. If a plain function runs an async test, "
    "override the fixture chat_fake_mode to return 'async', or mark the test with "
    "@pytest.mark.chat_fake(mode='async'). Outside pytest, write ChatFake(mode='async')."
)


class Performer:
    """Performs a fake's plan in the test's own loop.

    Attributes:
        is_performing: Whether a task is performing the plan now.
    """

    def __init__(self, core: Core[Any], plan: Plan | None, drain: Drain) -> None:
        self._core = core
        self._plan = plan
        self._drain = drain
        self.is_performing: bool = False
        self._waiting: list[_Waiter] = []

    def __str__(self) -> str:
        if self._plan is None:
            return "nothing to await"
        return "steps to await" if self._plan else "performed"

    def refuse_sync(self) -> Plan:
        """Return async mode's plan; raise a TypeError in sync mode."""
        if self._plan is None:
            raise TypeError(_NOTHING_TO_AWAIT)
        return self._plan

    async def perform(self, message: object = None) -> None:
        """Perform the pending steps, one after another.

        If another task is already performing, wait for it, unless no step about ``message`` is
        left; None: wait in any case.
        """
        plan = self.refuse_sync()
        if self._core.is_inside():  # verbs acted at once
            return
        while self.is_performing:
            if message is not None and not plan.concerns(message):
                plan.refuse_dropped(message)
                return
            await self._wait(plan, message)
        plan.refuse_dropped(message)
        self.is_performing = True
        try:
            while (step := plan.next()) is not None:
                await self._perform_step(step)
            await self._drain.attempt_async()
            self._core.raise_errors()
        except BaseException as error:
            self._core.close_if_interrupted(error)
            self._drop_after(error, plan, message)
            raise
        finally:
            self.is_performing = False
            plan.current = None
            for waiter in self._waiting:
                waiter.woken.set()
            self._waiting.clear()

    async def _perform_step(self, step: PlannedStep) -> None:
        try:
            for _ in step.run():
                await self._drain.attempt_async()
                self._core.raise_errors()  # found inside an attempt, so time stays at this moment
                if self._drain.may_use_threads:
                    await checkpoint()  # a call in a thread delays cancellations
        except Exception as error:
            error.add_note(f"in {step.what} at {step.line}")
            raise

    def _drop_after(self, error: BaseException, plan: Plan, message: object) -> None:
        failed = plan.current if isinstance(error, Exception) else None
        keep: list[object] = []
        awaited = [message]
        for waiter in self._waiting:
            if failed is not None and waiter.message is failed.subject:
                waiter.error = error
                awaited.append(waiter.message)
            else:
                keep.append(waiter.message)
        plan.drop(keep, awaited, failed)

    async def _wait(self, plan: Plan, message: object) -> None:
        waiter = _Waiter(message)
        self._waiting.append(waiter)
        try:
            await waiter.woken.wait()
        except BaseException:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            plan.drop_chain(message, running_task())
            raise
        if waiter.error is not None:
            raise NotAwaited(
                f"the rest of this chain was dropped: {waiter.error}"
            ) from waiter.error


class _Waiter:
    """A task whose chain another task performs."""

    def __init__(self, message: object) -> None:
        self.message = message
        self.woken = new_event()
        self.error: BaseException | None = None


class Pending(Generic[T]):
    """The result of a verb, a check or a wait: ``await`` it in async mode."""

    __slots__ = ("_performer", "_run")

    def __init__(self, performer: Performer, run: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._performer = performer
        self._run = run

    def __repr__(self) -> str:
        return f"<Pending: {self._performer}>"

    def __await__(self) -> Generator[Any, Any, T]:
        self._performer.refuse_sync().unawaited.pop(self._run, None)
        return self._run().__await__()


class Sleep(Pending[None]):
    """The result of an app's sleep, which an async app may also await in sync mode."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._run().__await__()
