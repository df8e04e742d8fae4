"""Crashes an app at a point in one attempt.

At a suspension, all tasks that began in the attempt are cancelled, as when their process shuts
down. Closing the coroutine would skip clean-up that awaits, and throwing an error into it would let
its children run on. At a function call, a :class:`SimulatedCrash` is raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack
from types import FunctionType
from typing import Any, TypeVar

from ..base.errors import ChatFakeError
from ..transport.client.loops import running_framework
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from .holdings import Holdings
from .point_watch import CrashPoint, PointWatch
from .swallowers import Swallower, swallower_of

T = TypeVar("T")


class SimulatedCrash(BaseException):
    """Ends an app's code at a call; no ``except Exception`` catches it."""


class CrashWatch(PointWatch):
    """Crashes an app at a point.

    Args:
        point: The point.
        functions: As of a :class:`.PointWatch`.

    Attributes:
        swallower: The library that swallowed the crash; None: none did.
    """

    # Assigned here, and type checkers would infer narrower types.
    effect: str
    stopped: ConnectionResetError | None

    def __init__(self, point: CrashPoint, functions: Mapping[FunctionType, str]) -> None:
        super().__init__(functions, point)
        self.swallower: Swallower | None = None
        self._is_call = point.kind != "line"
        self._has_survived = False
        self._crash: BaseException | None = None  # what ends the app's code
        self._holdings = Holdings(self._is_current, lambda: self._crash)

    def begin(self, target: Target) -> None:
        super().begin(target)
        self._call_plain_code(self._end_holdings_of, submits=True)
        self._holdings.note(self._stack)

    def _end_holdings_of(self, function: Callable[..., T], /, *args: Any, **named: Any) -> T:
        holdings = Holdings(self._is_current, lambda: self._crash)  # of another thread
        with ExitStack() as stack:
            holdings.note(stack)
            try:
                return function(*args, **named)
            finally:
                if self.stopped is not None:
                    holdings.let_go()

    def _strike(self, where: str, line: str) -> None:
        self.effect = f"crashed {where}" + f" ({line})" * bool(line)
        self.stopped = ConnectionResetError(self.effect)
        self._running.doom(self.stopped)
        if self._is_call:
            self._crash = SimulatedCrash(self.effect)
            raise self._crash
        self._running.end()

    def _started(self, running: Coroutine[Any, Any, T]) -> Awaitable[T]:
        # As on a server: what a library keeps for the task ends with the crash.
        if running_framework() == "trio":
            return running
        import asyncio  # noqa: PLC0415 - running, so imported

        return asyncio.Task(running)  # the app's tasks are made by the loop's factory

    async def _await(self, awaitable: Awaitable[T]) -> T:
        try:
            result = await awaitable
        except BaseException as error:
            if _is_crash(error):
                self._running.main = None  # the app's code has ended
                self._running.end()
            raise
        self._has_survived = self.stopped is not None
        return result

    async def _await_task(self, coroutine: Coroutine[Any, Any, T]) -> T:
        import asyncio  # noqa: PLC0415 - running, so imported

        try:
            return await self._watched(coroutine)
        except SimulatedCrash:
            self._running.end()
            raise asyncio.CancelledError from None

    def _note_thrown(self, error: BaseException) -> None:
        if self.stopped is not None:
            self._crash = error

    async def _clean_up(self) -> None:
        if self.stopped is not None:
            await self._running.wait()
            await self._holdings.let_go_on_loop()

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        if self.stopped is None:
            return result
        if not (isinstance(result, Response | Exception) or _is_crash(result)):
            return result  # an interrupt
        if self.response is not None:
            return self.response._replace(error=self.stopped)
        if self._has_survived or (isinstance(result, Response) and result.status is not None):
            is_taken = isinstance(result, Response) and (result.status or 500) < 500
            if self._holdings.has_failed and not is_taken:
                return Response(None, b"", self.stopped)  # a server responds to its error
            swallower = swallower_of(self._crash)
            if swallower is not None and swallower.library:
                self.swallower = swallower
                return ChatFakeError(f"the app {self.effect}, but {swallower}")
            place = "in it" if swallower is None else f"around {swallower.place}"
            return ChatFakeError(
                f"the app went on after it {self.effect}: a `try` {place} swallowed the crash (a "
                f"bare `except:`, or one that catches cancellation). Raise it again there"
            )
        return Response(None, b"", self.stopped)

    def _drop_leftovers(self) -> None:
        super()._drop_leftovers()
        self._crash = None
        if self.stopped is not None:
            self._holdings.let_go()


def _is_crash(error: BaseException) -> bool:
    # A nursery of trio raises a group.
    return isinstance(error, SimulatedCrash) or any(
        map(_is_crash, getattr(error, "exceptions", ()))
    )
