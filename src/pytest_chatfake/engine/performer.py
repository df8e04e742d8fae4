"""Async mode: who awaits a chain performs what is planned, one at a time, for all who wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import NotAwaited
from ..transport.client.loops import checkpoint, new_event

if TYPE_CHECKING:
    from .engine import Engine
    from .plan import Step

__all__ = ["Performer"]


class Performer:
    """Performs the plan of a fake in the test's own loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._performing = False
        self._waiting: list[_Waiter] = []

    async def perform(self, subject: object = None) -> None:
        """Perform the pending steps, one after another: change, attempts, next.

        Args:
            subject: Where somebody else is performing already, wait only for the steps that
                concern this one; None: wait for all.

        Raises:
            TypeError: The mode is sync, where there is nothing to wait for.
        """
        if self._engine.mode == "sync":
            raise TypeError(
                "there is nothing to await: this fake is in sync mode, where each verb is "
                "performed at once. Leave `await` out, or make the test `async def`; a ChatFake of "
                "your own is async with ChatFake(mode='async')."
            )
        if self._engine.inside:  # a receiver's own verbs were performed at once
            return
        while self._performing:
            if subject is not None and not self._engine.plan.concerns(subject):
                self._engine.plan.refuse_dropped(subject)
                return
            await self._idle(subject)
        self._engine.plan.refuse_dropped(subject)
        self._performing = True
        try:
            while (step := self._engine.plan.next()) is not None:
                await self._perform_step(step)
            await self._engine.outbox.attempt_async()
            self._engine.raise_errors()
        except BaseException as error:
            self._drop_after(error, subject)
            raise
        finally:
            self._performing = False
            self._engine.plan.current = None
            for waiter in self._waiting:
                waiter.woken.set()
            self._waiting.clear()

    async def _perform_step(self, step: Step) -> None:
        outbox = self._engine.outbox
        try:
            for _ in step.run():
                if outbox.queue:
                    await outbox.attempt_async()
                if outbox.threaded:
                    await checkpoint()  # a call in a thread has held cancellations back
        except Exception as error:
            error.add_note(f"in {step.what} at {step.line}")
            raise

    def _drop_after(self, error: BaseException, subject: object) -> None:
        """Drop what sync code would never have reached, and leave others their own chains."""
        failed = self._engine.plan.current
        keep: list[object] = []
        for waiter in self._waiting:
            if isinstance(error, Exception) and failed and waiter.subject is failed.subject:
                waiter.error = error
            else:
                keep.append(waiter.subject)
        self._engine.plan.drop(keep, told=[subject, failed and failed.subject])

    async def _idle(self, subject: object) -> None:
        """Wait until nobody performs.

        Raises:
            NotAwaited: A step of this chain failed where somebody else performed it.
        """
        waiter = _Waiter(subject)
        self._waiting.append(waiter)
        try:
            await waiter.woken.wait()
        except BaseException:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            self._engine.plan.drop_chain(subject)
            raise
        if waiter.error is not None:
            raise NotAwaited(
                f"the rest of this chain was dropped: {waiter.error}"
            ) from waiter.error


class _Waiter:
    """Somebody whose chain is performed by somebody else."""

    def __init__(self, subject: object) -> None:
        self.subject = subject
        self.woken = new_event()
        self.error: Exception | None = None
