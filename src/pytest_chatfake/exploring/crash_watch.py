"""Finds the points where an app can crash in one attempt, and crashes it at one of them.

An async app can crash wherever it suspends: all tasks that began in the attempt are then cancelled,
as when their process shuts down. Closing the coroutine would skip clean-up that awaits, and
throwing an error into it would let its children run on. Any app can crash before and after a
function call, where a :class:`SimulatedCrash` is raised. Or a call can fail with an error, like a
database call.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import ExitStack, nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import dropwhile, takewhile
from traceback import walk_stack
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..base.calling_line import is_ours, users_lines
from ..base.errors import ChatFakeError
from ..transport.client.cancellable import Cancellable, around
from ..transport.client.loops import running_framework
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from ..transport.client.wsgi import around_call
from .client_calls import short_name
from .database_calls import call_and_listen
from .garbage import old_objects, warnings_unheard
from .holdings import Holdings
from .injected_errors import make_error
from .stepping import (
    find_thread_starts,
    follow_into_threads,
    follow_new_tasks,
    followed,
    line_before_a_thread,
    set_until_closed,
    waiting_lines,
)
from .swallowers import Swallower, swallower_of
from .tripwires import set_tripwire

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping

T = TypeVar("T")

#: The real seconds that tasks get to clean up after a crash.
_CLEAN_UP_SECONDS: Final = 0.5


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


class SimulatedCrash(BaseException):
    """Ends an app's code at a call; no ``except Exception`` catches it."""


_current: ContextVar[CrashWatch | None] = ContextVar("pytest_chatfake_crash_watch", default=None)


class CrashWatch:
    """Counts the points at which one attempt can crash, and crashes it at one of them.

    It is an :class:`.Attendant`.

    Args:
        point: Where to crash; None: it only counts.
        functions: Functions whose calls are points, with their names.
        raises: An error class to raise at the point in place of a crash.
        listens: Whether it also counts database calls; the app can't crash there.

    Attributes:
        calls: The database calls that plain code made, by name.
        points: The points that the attempt reached; for a suspension, with the app's lines that led
            to it. Successive points with the same lines are steps of one `await`, so only the last
            is kept.
        effect: What was done to the app: "crashed ..." or "got ..."; empty: nothing yet.
        stopped: The crash as the service sees it, a closed connection; None: there was no crash.
        response: The response, if it was complete before the crash or error.
        swallower: The library that swallowed the crash; None: none did.
        started: The app's lines that start something in a worker thread, where it isn't crashed.
        awaited: The app's lines that wait for a worker thread.
        has_point_in_thread: Whether a worker thread that the app waits for reached a point.
        strays: The names of functions that other threads and tasks called meanwhile. Maybe the
            attempt waits for such a one, but it has not got the attempt's context.
    """

    def __init__(
        self,
        point: CrashPoint | None,
        functions: Mapping[FunctionType, str],
        raises: type[Exception] | None = None,
        *,
        listens: bool = False,
    ) -> None:
        self.calls: dict[str, None] = {}
        self.effect: str = ""
        self.points: dict[CrashPoint, list[str]] = {}
        self.stopped: ConnectionResetError | None = None
        self.swallower: Swallower | None = None
        self.started: dict[str, None] = {}
        self.awaited: dict[str, None] = {}
        self.has_point_in_thread: bool = False
        self.strays: set[str] = set()
        self._point = point
        self._functions = functions
        self._raises = raises
        self._listens = listens
        self.response: Response | None = None
        self._has_survived = self._is_counting = self._has_ended = False
        self._counts = Counter[CrashPoint]()
        self._main: Cancellable | None = None
        self._tasks: list[asyncio.Task[Any]] = []
        self._doomed = 0  # how many tasks there were when the app crashed
        self._raised: BaseException | None = None  # in the app's code, to end it
        self._holdings = Holdings(self._is_current)
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
        call: Callable[..., Any] | None = self._end_holdings_of if self._crashes else None
        if self._listens:
            call = partial(call_and_listen, self._count_database_call)
        if call is not None:
            set_until_closed(around_call, call, self._stack)
            wrap: Callable[..., Any] = partial(partial, call)
            follow_into_threads(wrap, self._stack, submits=self._crashes)
        if self._crashes:
            self._holdings.note(self._stack)
        if self._point is None:
            for start in find_thread_starts():
                set_tripwire(start, self._note_thread, self._stack)
        self._is_counting = True

    def end(self) -> None:
        """Stop watching, and drop whatever a crash left behind."""
        self._is_counting, self._has_ended = False, True
        with self._stack, warnings_unheard() if self.effect else nullcontext():
            self._tasks.clear()
            self._raised = None
            if self.stopped is not None:
                self._holdings.let_go()
            if self.effect:
                gc.collect()  # or an open transaction in a reference cycle would keep its lock

    @property
    def _crashes(self) -> bool:
        return self._point is not None and self._raises is None

    def _is_current(self) -> bool:
        return _current.get() is self and not self._has_ended

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        """Return the attempt's result for the service, given what was done to the app."""
        if self.stopped is None:
            if self.effect and isinstance(result, Exception):
                return self.response or Response(500, b"")  # as its server would respond
            return result
        if not (isinstance(result, Response | Exception) or _is_crash(result)):
            return result  # an interrupt
        if self.response is not None:
            return self.response._replace(error=self.stopped)
        if self._has_survived or (isinstance(result, Response) and result.status is not None):
            swallower = swallower_of(self._raised)
            if swallower is not None and swallower.library:
                self.swallower = swallower
                return ChatFakeError(f"the app {self.effect}, but {swallower}")
            place = "in it" if swallower is None else f"around {swallower.place}"
            return ChatFakeError(
                f"the app went on after it {self.effect}: a `try` {place} swallowed the crash (a "
                f"bare `except:`, or one that catches cancellation). Raise it again there"
            )
        return Response(None, b"", self.stopped)

    # At a point

    def _report(self, function: FunctionType, kind: str) -> None:
        if (watch := _current.get()) is not None:
            watch.count_call(function, kind)
        elif self._is_counting:
            self.strays.add(self._functions[function])

    def count_call(self, function: FunctionType, kind: str) -> None:
        """Count a function call; raise the crash or the error if this is its point."""
        if not self._is_counting or function not in self._functions:
            return
        if self._main is not None and running_framework() is None:
            self.has_point_in_thread = True
        stack = dropwhile(is_ours, _calling_frames())
        lines = users_lines(takewhile(lambda frame: not is_ours(frame), stack))
        name = short_name(function, self._functions[function])
        self._count(CrashPoint(kind, self._functions[function]), f"{kind} {name}", *lines[:1])
        if not self.effect:
            return
        if self._raises is None:
            self._raised = SimulatedCrash(self.effect)
            raise self._raised
        at = "".join(f" at {line}" for line in lines[:1])
        raise make_error(self._raises, f"{name} failed{at}, raised on purpose by webhooks.error()")

    def _note_thread(self, kind: str, *_: object, **__: object) -> None:
        # Only if it is the app that starts it, and not a library (or we) for its own purposes.
        if kind == "before" and self._is_counting and self._is_current():
            caller = sys._getframe(3)  # beyond this function and the two of a tripwire
            self.started.update(dict.fromkeys(users_lines([caller])))

    def _end_holdings_of(self, function: Callable[..., T], /, *args: Any, **named: Any) -> T:
        holdings = Holdings(self._is_current)
        with ExitStack() as stack:
            holdings.note(stack)
            try:
                return function(*args, **named)
            finally:
                if self.stopped is not None:
                    holdings.let_go()

    def _count_database_call(self, kind: str, name: str) -> None:
        if kind == "before" and self._is_counting:
            self.calls[name] = None

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
        point = self._count(CrashPoint("line", lines[-1]), f"at {lines[-1]}")
        self.points[point] = lines
        if self.stopped is not None:
            self._end_all()
        return point

    def _count(self, first: CrashPoint, where: str, line: str = "") -> CrashPoint:
        self._counts[first] += 1
        point = first._replace(nth=self._counts[first])
        self.points[point] = []
        if point == self._point:
            self._is_counting = False  # from now on, the app only cleans up
            self._doomed = len(self._tasks)
            self.response = self._target.response_so_far()
            at = f" ({line})" * bool(line)
            if self._raises is None:
                self.effect = f"crashed {where}{at}"
                self.stopped = ConnectionResetError(self.effect)
            else:
                place = where.removeprefix("before ")
                self.effect = f"got {self._raises.__name__} from {place}{at}"
        return point

    # Tasks

    async def run(self, cancellable: Cancellable, key: object, awaitable: Awaitable[T]) -> T:
        """Await an app's code, and watch it and the tasks that it starts."""
        if self._main is not None:  # the app uses another fake
            return await cancellable.run(key, awaitable)
        self._main = cancellable
        try:
            self._stack.callback(follow_new_tasks(self._wrapped, self._tasks.append))
            watched = self._watched(self._await(awaitable), self._note_thrown)
            result = await cancellable.run(key, watched)
        finally:
            self._main = None
            self._is_counting = False  # a background task may go on
            if self.stopped is not None:
                if self._tasks:
                    await self._wait_for_tasks()
                await self._holdings.let_go_on_loop()
        return result

    async def _await(self, awaitable: Awaitable[T]) -> T:
        try:
            result = await awaitable
        except BaseException as error:
            if _is_crash(error):
                self._main = None  # the app's code has ended
                self._end_all()
            raise
        self._has_survived = self.stopped is not None
        return result

    def _note_thrown(self, error: BaseException) -> None:
        if self.stopped is not None:
            self._raised = error

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

    def _wrapped(self, coroutine: Any) -> Coroutine[Any, Any, Any] | None:
        # For a task that the app begins in this attempt.
        async def watched() -> Any:
            try:
                return await self._watched(coroutine)
            except SimulatedCrash:
                self._end_all()
                raise asyncio.CancelledError from None

        import asyncio  # noqa: PLC0415 - running, so imported

        return watched() if _current.get() is self else None

    async def _wait_for_tasks(self) -> None:
        # Twice, because tasks may start others to clean up.
        import asyncio  # noqa: PLC0415 - running, so imported

        for _ in range(2):
            await asyncio.wait(self._tasks, timeout=_CLEAN_UP_SECONDS)

    def _end_all(self) -> None:
        if self._main is not None and self.stopped is not None:
            self._main.cancel_here(self.stopped)
        for task in self._tasks[: self._doomed]:
            task.cancel()


def _calling_frames() -> Iterator[FrameType]:
    # Below a greenlet, as in SQLAlchemy's async sessions, the frames continue in its parent.
    yield from (frame for frame, _ in walk_stack(sys._getframe()))
    greenlet = sys.modules.get("greenlet")
    parent = greenlet and greenlet.getcurrent().parent
    if parent:
        yield from (frame for frame, _ in walk_stack(parent.gr_frame))


def _is_crash(error: BaseException) -> bool:
    # A nursery of trio raises a group.
    return isinstance(error, SimulatedCrash) or any(
        map(_is_crash, getattr(error, "exceptions", ()))
    )
