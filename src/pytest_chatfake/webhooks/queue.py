"""The queue: all attempts that are still to be made, with what each one waits for.

What is *ready* stands in one deque, in the order in which it will be made. What waits for the clock
stands in the fake's schedule, next to drops and scripts, so that whatever is due at the same moment
happens in the order of its scheduling. Everything else waits in one list: for other attempts, for a
barrier, or for the test.

That list is sorted by *turn*: how many attempts of the fake must have been made before this one.
The queue counts those that were made, so the first entry tells whether anything's turn has come.
What waits for something else has a turn that never comes, at the end of the list.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from operator import itemgetter
from sys import maxsize
from typing import Any, Final, TypeAlias

from ..base.history import Record
from ..base.marks import Mark
from ..domain.instants import MILLISECOND
from ..domain.schedule import Schedule
from .attempts import Attempt
from .core import Core
from .decisions import AtBarrier, AtCall, Held, Pause, Together, Turn, Until
from .endpoints import Endpoint
from .events import Event

#: What waits for a call or a barrier comes after whatever waits for other attempts; what is held
#: comes last.
_AT_BARRIER: Final = maxsize - 1
_HELD: Final = maxsize

#: How many attempts must have been made first, a number that orders equals, and the attempt.
_Waiting: TypeAlias = tuple[int, int, Attempt]


class Queue:
    """The attempts of a fake that are still to be made.

    Whoever changes it holds the fake's lock; some methods take it themselves.

    Attributes:
        ready: The attempts to make next, in order.
        awaits_retries: Whether ``settle()`` moves the clock to retries of attempts that the app has
            refused. It does so once a fault has changed when attempts are made or how one ended, or
            an API call, because the app may have refused them for that reason.
    """

    def __init__(self, core: Core[Any], schedule: Schedule) -> None:
        self._core = core
        self._schedule = schedule
        self.ready: deque[Attempt] = deque()
        self.awaits_retries: bool = False
        self._waiting: list[_Waiting] = []  # sorted, so the next one is first
        self._count = 0
        self._made = 0
        self._moves_clock = False  # whether settle() has ever had to move the clock

    # Adding

    def add(self, attempts: list[Attempt]) -> None:
        """Queue the attempts to post an event."""
        block = self._core.block
        if block is None:
            self.ready.extend(attempts)
        else:
            self._hold(attempts, Held(block))

    def wait(self, attempt: Attempt, wait: Turn | Pause | AtCall | AtBarrier) -> None:
        """Queue an attempt that has to wait."""
        match wait:
            case Pause(length, moves_clock):
                self.wait_until(attempt, self._core.now() + length, moves_clock=moves_clock)
            case Turn(others):
                attempt._wait = wait
                self._put(self._made + others, attempt)
            case AtCall() | AtBarrier():
                attempt._wait = wait
                self._put(_AT_BARRIER, attempt)

    def wait_until(self, attempt: Attempt, due: int, *, moves_clock: bool = False) -> None:
        """Schedule an attempt.

        Args:
            attempt: The attempt.
            due: When it is due, in nanoseconds since the epoch.
            moves_clock: Whether ``settle()`` moves the clock to that moment.
        """
        if attempt._is_wanted:
            attempt._wait = Until(due, moves_clock)
            self._schedule.add(due, "attempt", attempt)
            self._moves_clock = self._moves_clock or moves_clock

    def take_due(self, due: int, attempt: Attempt) -> None:
        """Queue an attempt that was scheduled for ``due``."""
        # If time has jumped over `due`, the attempt counts as made at that moment.
        attempt.moment = due if self._core.now() - due > MILLISECOND else 0
        attempt._wait = None
        self.add([attempt])

    def retry_next(self, retry: Attempt) -> None:
        """Make a retry next; if two attempts at the same time have failed, one retry is enough."""
        is_there = self.ready and _delivery(self.ready[0]) == _delivery(retry)
        if not is_there:
            self.ready.appendleft(retry)

    def _put(self, turn: int, attempt: Attempt) -> None:
        self._count += 1
        insort(self._waiting, (turn, self._count, attempt))

    # Other attempts

    def note_made(self) -> None:
        """Count an attempt that was made, or lost; the one whose turn it is now is next."""
        self._made += 1
        for place, (turn, _, attempt) in enumerate(self._waiting):
            if turn > self._made:
                return
            if not _is_together(attempt):
                del self._waiting[place]
                attempt._wait = None
                self.ready.appendleft(attempt)
                return

    def take_partners(self) -> list[Attempt]:
        """Remove and return the attempts to make at the same time as the next one."""
        partners: list[_Waiting] = []
        for entry in self._waiting:
            if entry[0] > self._made + 1:
                break
            if _is_together(entry[2]) and not entry[2].endpoint.disabled:
                partners.append(entry)
        return self._take(partners) if partners else []

    def _take(self, entries: Sequence[_Waiting]) -> list[Attempt]:
        # Ends waits.
        leaving = {*entries}
        self._waiting = [entry for entry in self._waiting if entry not in leaving]
        for _, _, attempt in entries:
            attempt._wait = attempt._wait.then if isinstance(attempt._wait, Held) else None
        return [attempt for _, _, attempt in entries]

    # API calls

    def take_for(self, call: Record) -> list[Attempt]:
        """Remove and return the attempts that wait for an API call."""
        waiting = [entry for entry in self._waiting if isinstance(entry[2]._wait, AtCall)]
        if not waiting:
            return []
        taken = self._take(waiting)
        for attempt in taken:
            attempt._call = call
        return taken

    # Barriers

    def release(self) -> bool:
        """Let a barrier end what waits for attempts or calls or, if there is nothing, for it.

        Returns:
            Whether there was anything.
        """
        with self._core.lock:
            turns, failed = list[_Waiting](), list[_Waiting]()
            for entry in self._waiting[: bisect_left(self._waiting, (_HELD,))]:
                wait = entry[2]._wait
                if not isinstance(wait, Turn | AtCall):
                    failed.append(entry)
                elif isinstance(wait, AtCall) or not wait.outlasts_barriers:
                    wait.fault._cut_short()
                    turns.append(entry)
            turns.sort(key=lambda entry: (_is_together(entry[2]), entry[1]))
            if released := turns or failed:
                self.ready.extend(self._take(released))
        return bool(released)

    def end_waits(self) -> None:
        """Let the next barrier end whatever waits for other attempts, as no more will come."""
        for _, _, attempt in self._waiting:
            if isinstance(attempt._wait, Turn):
                attempt._wait = attempt._wait._replace(outlasts_barriers=False)

    def moves_clock_to(self) -> list[tuple[int, Attempt]]:
        """Return the attempts to which ``settle()`` moves the clock, and when they are due."""
        if not self._moves_clock:
            return []
        with self._core.lock:
            return [
                (due, attempt)
                for due, kind, attempt in self._schedule.pending()
                if kind == "attempt" and attempt._wait.moves_clock and not attempt.endpoint.disabled
            ]

    # Blocks of the test

    def held(self, block: object) -> list[list[Attempt]]:
        """Return what a block holds back: the attempts of each event."""
        events: dict[Held, list[Attempt]] = {}
        for _, _, attempt in self._waiting[bisect_left(self._waiting, (_HELD,)) :]:
            if isinstance(attempt._wait, Held) and attempt._wait.by is block:
                events.setdefault(attempt._wait, []).append(attempt)
        return [*events.values()]

    def let_go(
        self,
        attempts: Sequence[Attempt],
        *,
        mark: Mark | None = None,
        together: Together | None = None,
    ) -> None:
        """Queue attempts that a block of the test holds back, in this order; they are made now.

        Args:
            attempts: The attempts.
            mark: Says in reports that they were held back.
            together: With it, those that can overlap are made at the same time.
        """
        self._let_go(attempts)
        for attempt in attempts:
            attempt.moment = 0  # whenever it was due
            if mark is not None:
                attempt._marks += (mark,)
            if together is not None:
                attempt._wait = together if attempt.endpoint._target.overlaps else None

    def _let_go(self, attempts: Iterable[Attempt]) -> None:
        entries = {entry[2]: entry for entry in self._waiting}
        self.ready.extend(self._take([entries[attempt] for attempt in attempts]))

    @contextmanager
    def holding_ready(self) -> Generator[None]:
        """Hold back what is ready during a block; afterwards it comes after what is left then."""
        block, lock = object(), self._core.lock
        with lock:
            for attempt in self.ready:
                self._hold([attempt], Held(block, attempt._wait))
            self.ready.clear()
        try:
            yield
        finally:
            with lock:
                self._let_go(attempt for (attempt,) in self.held(block))

    def _hold(self, attempts: Iterable[Attempt], held: Held) -> None:
        for attempt in attempts:
            attempt._wait = held
            self._put(_HELD, attempt)

    # Leaving

    def forget_unwanted(self) -> None:
        """Forget attempts at endpoints that no longer get them."""
        with self._core.lock:
            for key, (_, subject) in tuple(self._schedule.work.items()):
                if isinstance(subject, Attempt) and not subject._is_wanted:
                    self._schedule.cancel(key)
            self._waiting = [entry for entry in self._waiting if entry[2]._is_wanted]

    @property
    def delayed(self) -> list[Attempt]:
        """What waits because of a fault, except ``delay()``, or is repeated at a barrier."""
        waiting = [entry for entry in self._waiting if entry[0] < _HELD]
        waiting.sort(key=itemgetter(1))  # in the order of their coming
        scheduled = [attempt for _, attempt in self.moves_clock_to() if is_late_duplicate(attempt)]
        return [*(entry[2] for entry in waiting), *scheduled]


def _is_together(attempt: Attempt) -> bool:
    return isinstance(attempt._wait, Turn) and attempt._wait.together


def _delivery(attempt: Attempt) -> tuple[Event, Endpoint, int]:
    return attempt.event, attempt.endpoint, attempt.number


def is_late_duplicate(attempt: Attempt) -> bool:
    """Return whether an attempt is a duplicate to which ``settle()`` moves the clock."""
    # It moves the clock to retries as well, whose numbers are higher.
    wait = attempt._wait
    return isinstance(wait, Until) and wait.moves_clock and attempt.number == 1
