"""Real seconds beside code that may hang, counted by a thread.

No clock is compared: freezegun stops the monotonic one, too, and asyncio's timers with it. What
holds is how long a lock waits. So one thread for the process looks every so often at what is being
done, and counts in how many looks it is still the same. That costs the code that is watched next to
nothing, and a machine that slept, or is busy, is not taken for an app that hangs.
"""

from __future__ import annotations

import threading
from math import inf
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ...base.debugging import is_debugging

# Real seconds between two looks, and after how many without anything to watch the thread ends.
TICK = 0.05
IDLE_LOOKS = 20


class Watched(Protocol):
    """Something that may take too long.

    Attributes:
        limit: How many real seconds one thing may take.
    """

    limit: float

    @property
    def current(self) -> object | None:
        """What it does now, another object for each new thing; None: nothing."""
        ...

    def on_timeout(self, current: Any) -> float | None:
        """Act, in the watchdog's thread, on ``current``, which takes longer than that.

        Returns:
            After how many more seconds to call it again; None: not again.
        """
        ...


class _Observation(NamedTuple):
    """What a watched item is doing, for how many looks, and its limit in seconds."""

    current: object | None
    looks: int
    limit: float


class Watchdog:
    """Looks at all that is watched, from a thread that lives while there is something."""

    def __init__(self) -> None:
        # Weakly, so that nobody has to remove what a fake that was never closed has added.
        self._watched: WeakKeyDictionary[Watched, None] = WeakKeyDictionary()
        self._lock = threading.Lock()  # held to begin the thread, and to end it
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()  # never set

    def add(self, watched: Watched) -> None:
        """Watch it from now on."""
        self._watched[watched] = None  # before the look at the thread, which may be about to end
        if not self._runs():
            with self._lock:
                if not self._runs():
                    self._thread = self._begin()

    def remove(self, watched: Watched) -> None:
        """Watch it no more."""
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
        """Look at one thing; an error of it is reported, and the others go on being watched."""
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
            if self._watched:  # since the last look; a later add() sees that there is none
                self._thread = thread
            return self._thread is None


def _look(watched: Watched, last: _Observation | None) -> _Observation:
    current = watched.current
    if current is None or last is None or last.current is not current:
        return _Observation(current, 0, watched.limit)
    looks = last.looks + 1
    if looks * TICK < last.limit:
        return _Observation(current, looks, last.limit)
    if is_debugging():  # somebody thinks: the time begins anew
        return _Observation(current, 0, watched.limit)
    more = watched.on_timeout(current)
    return _Observation(current, looks, inf if more is None else looks * TICK + more)


#: The one for the process.
watchdog: Watchdog = Watchdog()
