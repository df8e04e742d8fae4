"""Counts the points at which an app can crash in one attempt.

An async app can crash wherever it suspends. Any app can crash before and after a function call.
:mod:`.crash_watch` crashes an app at such a point, and :mod:`.injected_errors` lets a call fail.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import dropwhile, takewhile
from traceback import walk_stack
from types import FrameType, FunctionType
from typing import Any, NamedTuple, TypeVar

from ..base.calling_line import is_ours, users_lines
from ..transport.client.cancellable import Cancellable, around
from ..transport.client.loops import running_framework
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from ..transport.client.wsgi import around_call
from .client_calls import short_name
from .database_calls import call_and_listen
from .garbage import old_objects, warnings_unheard
from .running_code import RunningCode
from .stepping import (
    THREAD_STARTS,
    follow_into_threads,
    follow_new_tasks,
    followed,
    line_before_a_thread,
    set_until_closed,
    waiting_lines,
)
from .tripwires import find_functions, set_tripwire

T = TypeVar("T")


class CrashPoint(NamedTuple):
    """A point where an attempt can crash.

    Attributes:
        kind: ``"line"``, ``"before"`` or ``"after"``, like the arguments of ``crash()``.
        name: The line, such as ``app.py:41``, or a function's dotted name.
        nth: Which suspension at that line, or which call of that function, in the attempt.
    """

    kind: str
    name: str
    nth: int = 1


_current: ContextVar[PointWatch | None] = ContextVar("pytest_chatfake_point_watch", default=None)


class PointWatch:
    """Counts the points at which one attempt can crash; a subclass acts at one of them.

    It is an :class:`.Attendant`.

    Args:
        functions: Functions whose calls are points, with their names.
        point: Where a subclass acts; None: it only counts.
        listens: Whether it also counts database calls; the app can't crash there.

    Attributes:
        calls: How many database calls plain code made, by name.
        points: The points that the attempt reached, with the app's lines that led there. Successive
            suspensions with the same lines are steps of one `await`, so only the last is kept.
        started: The app's lines that start something in a worker thread, where it isn't crashed.
        awaited: The app's lines that wait for a worker thread.
        has_point_in_thread: Whether a worker thread that the app waits for reached a point.
        strays: The names of functions that other threads and tasks called meanwhile. Maybe the
            attempt waits for such a one, but it has not got the attempt's context.
        effect: What was done to the app: "crashed ..." or "got ..."; empty: nothing yet.
        stopped: The crash as the service sees it, a closed connection; None: there was no crash.
        response: The response, if it was complete before the crash or error.
    """

    def __init__(
        self,
        functions: Mapping[FunctionType, str],
        point: CrashPoint | None = None,
        *,
        listens: bool = False,
    ) -> None:
        self.calls: dict[str, int] = {}
        self.points: dict[CrashPoint, list[str]] = {}
        self.started: dict[str, None] = {}
        self.awaited: dict[str, None] = {}
        self.has_point_in_thread: bool = False
        self.strays: set[str] = set()
        self.effect: str = ""
        self.stopped: ConnectionResetError | None = None
        self.response: Response | None = None
        self._functions = functions
        self._point = point
        self._listens = listens
        self._counts = Counter[CrashPoint]()
        self._is_counting = self._has_ended = False
        self._running = RunningCode()
        self._stack = ExitStack()

    def begin(self, target: Target) -> None:
        """Start watching an attempt."""
        self._target = target
        if self._point is not None:
            old_objects.freeze(self._stack)
        set_until_closed(around, self.run, self._stack)
        set_until_closed(_current, self, self._stack)
        for function in self._functions:
            set_tripwire(function, partial(self._report, function), self._stack)
        if self._listens:
            self._call_plain_code(partial(call_and_listen, self._count_database_call))
        if self._point is None:
            for start in find_functions(THREAD_STARTS):
                set_tripwire(start, self._note_thread, self._stack)
        self._is_counting = True

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        """Return the attempt's result for the service, given what was done to the app."""
        return result

    def end(self) -> None:
        """Stop watching, and drop whatever a crash left behind."""
        self._is_counting, self._has_ended = False, True
        with self._stack, warnings_unheard() if self.effect else nullcontext():
            self._drop_leftovers()
            if self.effect:
                gc.collect()  # or an open transaction in a reference cycle would keep its lock

    def _drop_leftovers(self) -> None:
        self._running.forget()

    def _is_current(self) -> bool:
        return _current.get() is self and not self._has_ended

    # Plain code

    def _call_plain_code(self, call: Callable[..., Any], *, submits: bool = False) -> None:
        # Let `call` call the app's plain code, here and in threads.
        set_until_closed(around_call, call, self._stack)
        follow_into_threads(partial(partial, call), self._stack, submits=submits)

    def _report(self, function: FunctionType, kind: str) -> None:
        if (watch := _current.get()) is not None:
            watch.count_call(function, kind)
        elif self._is_counting:
            self.strays.add(self._functions[function])

    def count_call(self, function: FunctionType, kind: str) -> None:
        """Count a function call; raise what a subclass raises if this is its point."""
        if not self._is_counting or function not in self._functions:
            return
        if self._running.main is not None and running_framework() is None:
            self.has_point_in_thread = True
        stack = dropwhile(is_ours, _calling_frames())
        lines = users_lines(takewhile(lambda frame: not is_ours(frame), stack))
        name = self._functions[function]
        where = f"{kind} {short_name(function, name)}"
        self._count(CrashPoint(kind, name), lines, where, *lines[:1])

    def _note_thread(self, kind: str, *_: object, **__: object) -> None:
        # Only if it is the app that starts it, and not a library (or we) for its own purposes.
        if kind == "before" and self._is_counting and self._is_current():
            caller = sys._getframe(3)  # beyond this function and the two of a tripwire
            self.started.update(dict.fromkeys(users_lines([caller])))

    def _count_database_call(self, kind: str, name: str) -> None:
        if kind == "before" and self._is_counting:
            self.calls[name] = self.calls.get(name, 0) + 1

    # Code that suspends

    async def run(self, cancellable: Cancellable, key: object, awaitable: Awaitable[T]) -> T:
        """Await an app's code, and watch it and the tasks that it starts."""
        running = self._running
        if running.main is not None:  # the app uses another fake
            return await cancellable.run(key, awaitable)
        running.main = cancellable
        try:
            self._stack.callback(follow_new_tasks(self._wrapped, running.tasks.append))
            watched = self._watched(self._await(awaitable), self._note_thrown)
            return await self._started(cancellable.run(key, watched))
        finally:
            running.main = None
            self._is_counting = False  # a background task may go on
            await self._clean_up()

    def _started(self, running: Coroutine[Any, Any, T]) -> Awaitable[T]:
        return running

    def _wrapped(self, coroutine: Any) -> Coroutine[Any, Any, Any] | None:
        return self._await_task(coroutine) if _current.get() is self else None

    def _watched(
        self,
        inner: Coroutine[Any, Any, T],
        note_thrown: Callable[[BaseException], object] | None = None,
    ) -> Awaitable[T]:
        last: CrashPoint | None = None

        def look(awaited: object) -> None:
            nonlocal last
            last = self._count_suspension(awaited, last)

        return followed(inner, look, note_thrown)

    def _count_suspension(self, awaited: object, last: CrashPoint | None) -> CrashPoint | None:
        # `last` is the result for the previous suspension.
        if not self._is_counting:
            return last
        if not (lines := waiting_lines(awaited)):
            if line := line_before_a_thread(awaited):
                self.awaited[line] = None
            return last
        if last is not None and self.points[last] == lines:
            del self.points[last]
        return self._count(CrashPoint("line", lines[-1]), lines, f"at {lines[-1]}")

    def _count(self, first: CrashPoint, lines: list[str], where: str, line: str = "") -> CrashPoint:
        self._counts[first] += 1
        point = first._replace(nth=self._counts[first])
        self.points[point] = lines
        if point == self._point:
            self._is_counting = False  # from now on, the app only cleans up
            self.response = self._target.response_so_far()
            self._strike(where, line)
        return point

    # What a subclass does at its point, and until the app's code has ended

    def _strike(self, where: str, line: str) -> None:
        """Act at the point.

        Args:
            where: The point in words.
            line: The app's line that calls a function there; empty: it suspends there.
        """

    async def _await(self, awaitable: Awaitable[T]) -> T:
        return await awaitable

    async def _await_task(self, coroutine: Coroutine[Any, Any, T]) -> T:
        # A task that the app begins in this attempt.
        return await self._watched(coroutine)

    def _note_thrown(self, error: BaseException) -> None:
        """Note what is thrown into the app's code, apart from its tasks."""

    async def _clean_up(self) -> None:
        """End on the loop what a crash has left behind."""


def _calling_frames() -> Iterator[FrameType]:
    # Below a greenlet, as in SQLAlchemy's async sessions, the frames continue in its parent.
    yield from (frame for frame, _ in walk_stack(sys._getframe()))
    greenlet = sys.modules.get("greenlet")
    parent = greenlet and greenlet.getcurrent().parent
    if parent:
        yield from (frame for frame, _ in walk_stack(parent.gr_frame))
