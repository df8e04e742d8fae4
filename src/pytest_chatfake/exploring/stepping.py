"""Follows an app's coroutines from one suspension to the next, in its tasks and its threads."""

from __future__ import annotations

import gc
import types
from functools import partial
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..base.calling_line import users_lines
from ..transport.client.loops import running_framework
from .tripwires import find_functions, set_detour

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
    from contextlib import ExitStack
    from contextvars import ContextVar

T = TypeVar("T")

#: Called at each suspension; returns what makes what to await before the code goes on, if anything.
#: It isn't made earlier, because a coroutine that is never awaited causes a warning.
Look: TypeAlias = "Callable[[object], Callable[[], Awaitable[object]] | None]"

#: Functions of asyncio, trio, anyio and asgiref that await a thread, which can't be ended.
_THREADS: Final = {
    "to_thread",
    "to_thread_run_sync",
    "AsyncIOBackend.run_sync_in_worker_thread",
    "SyncToAsync.__call__",
}

_RUN_IN_EXECUTOR: Final = "asyncio.base_events:BaseEventLoop.run_in_executor"
_SUBMIT: Final = "concurrent.futures.thread:ThreadPoolExecutor.submit"

#: Functions that call plain code in a thread, and where they take that code.
_POOLS: Final = {"anyio.to_thread:run_sync": 0, "trio.to_thread:run_sync": 0, _RUN_IN_EXECUTOR: 2}

#: The same for code that isn't awaited, but may run in a copy of the context.
_SUBMITS: Final = {_SUBMIT: 1}

#: Functions that run code in a thread of its own, or in one of a pool, without awaiting it.
THREAD_STARTS: Final = (
    "threading:Thread.start",
    _SUBMIT,
    "concurrent.futures.thread:ThreadPoolExecutor.map",
    _RUN_IN_EXECUTOR,
)

#: The names of the attributes for frame and awaited object, by type of awaitable.
_LINKS: Final[dict[type, tuple[str, str]]] = {
    CoroutineType: ("cr_frame", "cr_await"),
    GeneratorType: ("gi_frame", "gi_yieldfrom"),
    AsyncGeneratorType: ("ag_frame", "ag_await"),
}


@types.coroutine
def followed(
    inner: Coroutine[Any, Any, T],
    look: Look,
    note_thrown: Callable[[BaseException], object] | None = None,
) -> Generator[Any, Any, T]:
    """Like ``await inner``, with a look at each suspension.

    Args:
        inner: The coroutine.
        look: Called at each suspension.
        note_thrown: Takes what is thrown into the coroutine when it goes on.
    """
    step = partial(inner.send, None)
    while True:
        try:
            suspended = step()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        wait = look(inner)
        try:
            sent = yield suspended
            thrown = getattr(sent, "error", None)  # trio sends what it then raises
            if note_thrown is not None and isinstance(thrown, BaseException):
                note_thrown(thrown)
            step = partial(inner.send, sent)
            if wait is not None:
                yield from wait().__await__()
        except GeneratorExit:
            inner.close()  # a no-op if both are garbage and `inner` was collected first
            raise
        except BaseException as error:
            if note_thrown is not None:
                note_thrown(error)
            step = partial(inner.throw, error)


def waiting_lines(awaited: object) -> list[str]:
    """Return the app's lines that led to a suspension; none if it waits for a thread."""
    frames = list(_frames_of(awaited))
    return [] if _is_waiting_for_a_thread(frames) else users_lines(frames)


def line_before_a_thread(awaited: object) -> str:
    """Return the app's line that waits for a thread; empty if none does."""
    frames = list(_frames_of(awaited))
    lines = users_lines(frames) if _is_waiting_for_a_thread(frames) else []
    return lines[-1] if lines else ""


def _is_waiting_for_a_thread(frames: list[FrameType]) -> bool:
    return not _THREADS.isdisjoint(frame.f_code.co_qualname for frame in frames)


def _frames_of(awaited: object) -> Iterator[FrameType]:
    # Ordered with the innermost last.
    while awaited is not None:
        link = _LINKS.get(type(awaited))
        # For example, a step of an async generator, which doesn't refer to the generator.
        if link is None:
            found = (link for link in gc.get_referents(awaited) if type(link) in _LINKS)
            awaited = next(found, None)
            continue
        frame, awaited = (getattr(awaited, name) for name in link)
        if frame is not None:
            yield frame


def set_until_closed(variable: ContextVar[T], value: T, stack: ExitStack) -> None:
    """Set a variable of the context, until a stack is closed."""
    # Its undoing is registered first, because an interrupt may come in between.
    stack.callback(variable.set, variable.get())
    variable.set(value)


def follow_new_tasks(
    wrap: Callable[[Any], Any], note: Callable[[asyncio.Task[Any]], object]
) -> Callable[[], object]:
    """Follow the tasks that are begun on the running loop, unless it is trio's.

    Args:
        wrap: Returns the coroutine to run in place of a task's; None: the task is none of ours.
        note: Takes each task whose coroutine was replaced.

    Returns:
        A function that ends this.
    """
    if running_framework() == "trio":  # whose tasks end with their nursery
        return lambda: None
    import asyncio  # noqa: PLC0415 - running, so imported

    loop = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()

    def begin(loop: Any, coroutine: Any, **options: Any) -> Any:
        wrapped = wrap(coroutine)
        awaited = coroutine if wrapped is None else wrapped
        if before is None:
            task = asyncio.Task(awaited, loop=loop, **options)
        else:
            task = before(loop, awaited, **options)
        if wrapped is not None:
            note(task)

            def close(_: object) -> None:
                coroutine.close()  # because it may never have begun

            task.add_done_callback(close)
        return task

    loop.set_task_factory(begin)
    return partial(loop.set_task_factory, before)


def follow_into_threads(
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]],
    stack: ExitStack,
    *,
    submits: bool = False,
) -> None:
    """Replace the plain code that coroutines run in threads, until a stack is closed.

    Args:
        wrap: Returns what to run in a thread in place of a function; it is called on the loop.
        stack: Ends this.
        submits: Whether to do so for any code in a pool, also if it is not awaited.
    """
    for place, index in (_POOLS | (_SUBMITS if submits else {})).items():
        for function in find_functions([place]):
            set_detour(function, partial(_into_thread, wrap, index), stack)


def _into_thread(
    wrap: Callable[[Any], Any], index: int, original: Any, *args: Any, **options: Any
) -> Any:
    before, function, after = args[:index], args[index], args[index + 1 :]
    return original(*before, wrap(function), *after, **options)
