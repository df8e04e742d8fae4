"""Threads, and jobs in pools of threads, that go on after the app has handled an event.

What one of them writes is missing in its own world's snapshot, and may be found in that of a later
world, even in the next test.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from ..base.views import listed
from .tripwires import find_functions, set_detour

#: A thread, or a job in a pool.
Work: TypeAlias = threading.Thread | Future[Any]

#: What is in the names of other threads: those of pools, ours, and those in which socketserver
#: handles a request.
_OTHERS: Final = re.compile(
    "AnyIO worker thread|asyncio_|ThreadPoolExecutor|chatfake|process_request_thread"
)

#: Stands for a thread that Python didn't start, such as a C library's, and can't be joined. It has
#: no public name.
_NOT_STARTED: Final = threading._DummyThread  # noqa: SLF001 - see above

#: The name that Python gives a thread, maybe with that of its function.
_NAME: Final = re.compile(r"(?:Thread-\d+ \()?(.+?)(?:\)|-\d+)")

#: How many real seconds late work gets to end, in all. What goes on may have nothing to do.
_PATIENCE: Final = 2

#: The names of the functions that pools have got, by their jobs; and the late work of all tests.
_jobs: Final[WeakKeyDictionary[Future[Any], str]] = WeakKeyDictionary()
_late: Final[WeakSet[Work]] = WeakSet()

#: The threads that were begun, in order, each with the thread that did so; and those that somebody
#: has waited for.
_begun: Final[list[tuple[threading.Thread, threading.Thread]]] = []
_joined: Final[WeakSet[threading.Thread]] = WeakSet()


def note_work(stack: ExitStack) -> None:
    """Until a stack is closed, note the jobs that pools get, and the threads that are begun."""
    stack.callback(_begun.clear)
    for name, detour in (
        ("concurrent.futures.thread:ThreadPoolExecutor.submit", _submit),
        ("threading:Thread.start", _start),
        ("threading:Thread.join", _join),
    ):
        for function in find_functions([name]):
            set_detour(function, detour, stack)


def begun_so_far() -> int:
    """Return how many threads were begun; for :func:`goes_its_own_way`."""
    return len(_begun)


def goes_its_own_way(since: int) -> bool:
    """Return whether this thread, or one of ours, has begun a thread that nobody has waited for.

    The app that it belongs to may have responded before the thread did its work, or after it.
    """
    here = threading.current_thread()
    return any(
        thread not in _joined and (by is here or "chatfake" in by.name) and not _is_another(thread)
        for thread, by in _begun[since:]
    )


def _start(original: Any, thread: threading.Thread) -> None:
    original(thread)
    _begun.append((thread, threading.current_thread()))


def _join(original: Any, thread: threading.Thread, timeout: float | None = None) -> None:
    original(thread, timeout)
    if not thread.is_alive():
        _joined.add(thread)


def _submit(original: Any, pool: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    job = original(pool, function, *args, **kwargs)
    _jobs[job] = getattr(function, "__name__", type(function).__name__)
    return job


def running() -> list[Work]:
    """Return the threads and jobs that have not ended, and that Python can wait for."""
    threads = [each for each in threading.enumerate() if not _is_another(each)]
    jobs = [job for known in _jobs.keyrefs() if (job := known()) is not None]  # in one step
    return [*threads, *(job for job in jobs if not job.done())]


def _is_another(thread: threading.Thread) -> bool:
    return bool(_OTHERS.search(thread.name)) or isinstance(thread, _NOT_STARTED)


def note_late(before: Collection[Work]) -> list[Work]:
    """Note and return what has begun since, and not ended."""
    late = [work for work in running() if work not in before]
    _late.update(late)
    return late


def running_late() -> list[Work]:
    """Return the noted work of earlier worlds that has not ended."""
    return [work for work in [*_late] if not _has_ended(work, 0)]


def about_late(late: Iterable[Work], whose: str = "the snapshot") -> str:
    """Say what ran late, if it has ended by now, or soon does; empty if nothing has.

    Args:
        late: The threads and jobs.
        whose: What should have waited for them.
    """
    until = monotonic() + _PATIENCE
    names = {_name(work) for work in late if _has_ended(work, max(0, until - monotonic()))}
    if not names:
        return ""
    return (
        f"a thread that the app started, and did not wait for, was still running "
        f"({listed(sorted(names))}): let {whose} wait for it, as in thread.join() or "
        f"future.result()"
    )


def _has_ended(work: Work, seconds: float) -> bool:
    if isinstance(work, Future):
        return bool(wait([work], seconds).done)
    with suppress(RuntimeError):  # it is only just being started, or is this very thread
        work.join(seconds)
        return not work.is_alive()
    return False


def _name(work: Work) -> str:
    if isinstance(work, Future):
        return _jobs[work]
    known = _NAME.fullmatch(work.name)
    return work.name if known is None else known[1]
