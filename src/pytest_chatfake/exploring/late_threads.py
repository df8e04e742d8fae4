"""Threads that an app starts while it handles an event, and that end after the response.

What such a thread writes is missing in its own world's snapshot, and may be found in that of a
later world, even in the next test.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable
from time import monotonic
from typing import Final
from weakref import WeakSet

from ..base.views import listed

#: What is in the names of other threads: those of frameworks, ours, and those in which socketserver
#: handles a request.
_OTHERS: Final = re.compile("AnyIO worker thread|asyncio_|chatfake|process_request_thread")

#: The name that Python gives a thread: a pool's, or maybe with that of its function.
_NAME: Final = re.compile(r"(?:Thread-\d+ \()?(.+?)(?:\)|-\d+(?:_\d+)?)")

#: How many real seconds threads get to end, in all. One that goes on may have nothing to do.
_PATIENCE: Final = 2

#: Those of all tests.
_late: Final[WeakSet[threading.Thread]] = WeakSet()


def note_late(before: Collection[threading.Thread]) -> list[threading.Thread]:
    """Note and return the threads that have begun since, and not ended."""
    late = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not _OTHERS.search(thread.name)
    ]
    _late.update(late)
    return late


def running_late() -> list[threading.Thread]:
    """Return the noted threads of earlier worlds that are still running."""
    return [thread for thread in [*_late] if thread.is_alive()]


def about_late(threads: Iterable[threading.Thread], whose: str = "the snapshot") -> str:
    """Say which threads ran late, if they have ended by now, or soon do; empty if none have.

    Args:
        threads: The threads.
        whose: What should have waited for them.
    """
    until = monotonic() + _PATIENCE
    names = {_name(thread) for thread in threads if _has_ended(thread, until)}
    if not names:
        return ""
    return (
        f"a thread that the app started, and did not wait for, was still running "
        f"({listed(sorted(names))}): let {whose} wait for it, as in thread.join()"
    )


def _has_ended(thread: threading.Thread, until: float) -> bool:
    thread.join(max(0, until - monotonic()))
    return not thread.is_alive()


def _name(thread: threading.Thread) -> str:
    known = _NAME.fullmatch(thread.name)
    return thread.name if known is None else known[1]
