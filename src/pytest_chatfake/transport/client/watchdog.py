"""Counts real seconds, in a thread, while other code runs that may hang.

Clocks are useless for this: freezegun even stops the monotonic one, and with it asyncio's timers.
But a lock still waits in real time. So one thread of the process looks at all watched items every
50 ms, and counts how often it finds the same thing running. This costs the watched code next to
nothing, and a machine that was asleep or is overloaded does not look like an app that hangs.
"""

from __future__ import annotations

import threading
from math import inf
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ...base.debugging import is_debugging
from ...base.forks import call_in_children, new_lock

# The real seconds between two looks, and the number of idle looks after which the thread ends.
TICK = 0.05
IDLE_LOOKS = 20


class Watched(Protocol):
    """An item that does one thing after another, each of which may take too long.

    Attributes:
        limit: How many real seconds each thing may take.
    """

    limit: float

    @property
    def current(self) -> object | None:
        """What the item is doing, as a new object for each new thing; None if nothing."""
        ...

    def on_timeout(self, current: Any) -> float | None:
        """Act on ``current``, which takes longer than the limit; called in the watchdog's thread.

        Returns:
            The seconds until the next call; None: no further call.
        """
        ...


class _Observation(NamedTuple):
    """What an item is doing, for how many looks, and its limit in seconds."""

    current: object | None
    looks: int
    limit: float


class Watchdog:
    """Looks at all watched items, from a thread that runs as long as there are any."""

    def __init__(self) -> None:
        # Weak, because a fake that is never closed never removes its items.
        self._watched: WeakKeyDictionary[Watched, None] = WeakKeyDictionary()
        self._lock = new_lock()  # held while the thread starts or ends
        self._thread: Thread | None = None
        self._pause = Event()  # never set

    def add(self, watched: Watched) -> None:
        self._watched[watched] = None  # first, because the thread may be about to end
        if not self._runs():
            with self._lock:
                if not self._runs():
                    self._thread = self._begin()

    def remove(self, watched: Watched) -> None:
        self._watched.pop(watched, None)

    def _runs(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def go_on(self) -> None:
        """In a forked child, which has no thread yet, watch what the parent watched."""
        self._pause = Event()  # the parent's thread may have held the lock of this one
        if self._watched:
            self._thread = self._begin()

    def _begin(self) -> Thread:
        thread = Thread(target=self._run, name="chatfake-watch", daemon=True)
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
        # An item's error is reported, and must not stop the watch over the others.
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
            # An item was added since the last look; a later add() starts a new thread.
            if self._watched:
                self._thread = thread
            return self._thread is None


def _look(watched: Watched, last: _Observation | None) -> _Observation:
    current = watched.current
    if current is None or last is None or last.current is not current:
        return _Observation(current, 0, watched.limit)
    looks = last.looks + 1
    if looks * TICK < last.limit:
        return _Observation(current, looks, last.limit)
    if is_debugging():  # somebody is thinking, so the count starts over
        return _Observation(current, 0, watched.limit)
    more = watched.on_timeout(current)
    return _Observation(current, looks, inf if more is None else looks * TICK + more)


#: The process's watchdog.
watchdog: Watchdog = Watchdog()
call_in_children(watchdog.go_on)
