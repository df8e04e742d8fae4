"""Several attempts at the same time: as tasks of one loop, or in threads.

What tasks do is the same every time. What threads do is not: here they begin at the same moment,
and take turns as often as Python can, so that what can go wrong between them is likely to.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeVar

from .answers import Answer, Post
from .asgi import AsgiTarget
from .django_bridge import connections_kept, is_asgi_handler, run_bridged
from .loops import GRACE_SECONDS, gather, running_framework
from .portal import Portal
from .targets import Target

PostT = TypeVar("PostT", bound=Post)

#: How many real seconds a thread runs before another one gets its turn.
_TURN: Final = 1e-6


class _ShortTurns:
    """Blocks in which threads take turns often; the last one to end gives them back their length.

    Fakes in several threads may have rounds at the same time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._own = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._own = sys.getswitchinterval()
                sys.setswitchinterval(_TURN)
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                sys.setswitchinterval(self._own)


_SHORT_TURNS: Final = _ShortTurns()
_NO_CONTEXT: Final[ContextVar[Any]] = ContextVar("pytest_chatfake_no_context")


class Call(Generic[PostT]):
    """One of several attempts.

    Args:
        request: What is posted.
        target: Where.

    Attributes:
        request: As given.
        target: As given; while the attempt is made, its twin.
        outcome: What came of it; None: nothing yet.
        context: A variable that is set while it is made, and its value.
    """

    def __init__(self, request: PostT, target: Target) -> None:
        self.request = request
        self.target = target
        self.outcome: Answer | BaseException | None = None
        self.context: tuple[ContextVar[Any], object] = (_NO_CONTEXT, None)

    @property
    def broken_off(self) -> bool:
        """Whether it was cancelled, or interrupted: no other one is to begin."""
        return isinstance(self.outcome, BaseException) and not isinstance(self.outcome, Exception)

    @contextmanager
    def _set(self) -> Generator[None]:
        variable, value = self.context
        token = variable.set(value)
        try:
            yield
        finally:
            variable.reset(token)

    def make(self) -> None:
        """Make it here."""
        try:
            with self._set():
                self.outcome = self.target.attempt(self.request)
        except BaseException as error:
            self.outcome = error

    async def make_async(self) -> None:
        """Await it here."""
        try:
            with self._set():
                self.outcome = await self.target.attempt_async(self.request)
        except BaseException as error:
            self.outcome = error
            if running_framework() == "trio" and type(error).__name__ == "Cancelled":
                raise  # trio counts on it


def attempt(calls: Sequence[Call[Any]], portal: Portal) -> None:
    """Make attempts at the same time, from plain code; those that can't overlap come before.

    Args:
        calls: The attempts.
        portal: Runs what is awaited.
    """
    for call in calls:
        if not call.target.overlaps:
            call.make()
            if call.broken_off:
                return
    others = [call for call in calls if call.target.overlaps]
    with _twins(others):
        if any(
            isinstance(one.target, AsgiTarget) and is_asgi_handler(one.target._app)
            for one in others
        ):
            with connections_kept():
                run_bridged(_gathered, others)
        elif others:
            portal.run(_gathered(others))


async def attempt_async(calls: Sequence[Call[Any]]) -> None:
    """The same in the running loop."""
    for call in calls:
        if not call.target.overlaps:
            await call.make_async()
            if call.broken_off:
                return
    others = [call for call in calls if call.target.overlaps]
    with _twins(others):
        await _gathered(others)


async def _gathered(calls: Sequence[Call[Any]]) -> None:
    """Await each in a task of its own."""
    await gather([call.make_async for call in calls])


@contextmanager
def _twins(calls: Sequence[Call[Any]]) -> Generator[None]:
    """Give each attempt a way of its own for a block, and let threads wait for each other."""
    threads = sum(call.target.threaded for call in calls)
    barrier = threading.Barrier(threads, timeout=GRACE_SECONDS) if threads else None

    def gate() -> None:
        if barrier is not None:
            with suppress(
                threading.BrokenBarrierError
            ):  # another one was cancelled before it began
                barrier.wait()

    own = [call.target for call in calls]
    for call in calls:
        call.target = call.target.twin(gate)
    try:
        with _SHORT_TURNS if threads else nullcontext():
            yield
    finally:
        for call, target in zip(calls, own, strict=True):
            with suppress(RuntimeError):  # a call that does not return is left to itself
                call.target.close()
            call.target = target
