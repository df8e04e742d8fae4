"""Counts real seconds beside code that may hang, in a thread.

It can't compare clocks: freezegun stops even the monotonic one, and asyncio's timers with it. But a
lock still waits for real time. So one thread of the process looks at all watched items every 50 ms,
and counts how many times it finds the same thing running. This costs the watched code next to
nothing, and a machine that was asleep or is overloaded does not look like an app that hangs.
"""

from __future__ import annotations

import threading
from math import inf
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ...base.debugging import is_debugging

# Real seconds between two looks; and after how many looks at nothing the thread ends.
TICK = 0.05
IDLE_LOOKS = 20


class Watched(Protocol):
    """An item that does one thing after another, each of which may take too long.

    Attributes:
        limit: How many real seconds one thing may take.
    """

    limit: float

    @property
    def current(self) -> object | None:
        """What it is doing, as a new object for each new thing; None for nothing."""
        ...

    def on_timeout(self, current: Any) -> float | None:
        """Act on ``current``, which takes longer than the limit; called in the watchdog's thread.

        Returns:
            After how many more seconds to call this again; None for never.
        """
        ...


class _Observation(NamedTuple):
    """What an item is doing, for how many looks, and its limit in seconds."""

    current: object | None
    looks: int
    limit: float


class Watchdog:
    """Looks at all watched items, from a thread that lives as long as there are any."""

    def __init__(self) -> None:
        # Weak, because a fake that is never closed never removes its items.
        self._watched: WeakKeyDictionary[Watched, None] = WeakKeyDictionary()
        self._lock = threading.Lock()  # held while the thread begins and ends
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()  # never set

    def add(self, watched: Watched) -> None:
        """Watch an item from now on."""
        self._watched[watched] = None  # first, because the thread may be about to end
        if not self._runs():
            with self._lock:
                if not self._runs():
                    self._thread = self._begin()

    def remove(self, watched: Watched) -> None:
        """Stop watching an item."""
        self._watched.pop(watched, None)

    def _runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()  # after a fork it is not

    def _begin(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="chatfake-watch", daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        seen: WeakKeyDictionary[Watched, _Observation | None] = WeakKeyDictionary()
        idle = 0
        while True:
            self._pause.wait(TICK)  # not time.sleep(), which tests replace
            watched = list(filter(None, (ref() for ref in self._watched.keyrefs())))
            seen = WeakKeyDictionary({one: self._look(one, seen.get(one)) for one in watched})
            idle = 0 if watched else idle + 1
            del watched
            if idle >= IDLE_LOOKS and self._ends():
                return

    def _look(self, watched: Watched, last: _Observation | None) -> _Observation | None:
        # An error of one item is reported, and must not end the watch over the others.
        try:
            return _look(watched, last)
        except BaseException as error:
            self.remove(watched)
            args = (type(error), error, error.__traceback__, self._thread)
            threading.excepthook(threading.ExceptHookArgs(args))
            return None

    def _ends(self) -> bool:
        with self._lock:
            thread, self._thread = self._thread, None
            if self._watched:  # was added since the last look; a later add() begins a thread
                self._thread = thread
            return self._thread is None


def _look(watched: Watched, last: _Observation | None) -> _Observation:
    current = watched.current
    if current is None or last is None or last.current is not current:
        return _Observation(current, 0, watched.limit)
    looks = last.looks + 1
    if looks * TICK < last.limit:
        return _Observation(current, looks, last.limit)
    if is_debugging():  # someone is thinking: start again
        return _Observation(current, 0, watched.limit)
    more = watched.on_timeout(current)
    return _Observation(current, looks, inf if more is None else looks * TICK + more)


#: The one of this process.
watchdog: Watchdog = Watchdog()
