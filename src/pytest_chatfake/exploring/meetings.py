"""Lets two attempts at the same time meet at a point inside the app.

Of the two attempts of an event, the one that reaches the point first is held there until the other
one has come as far, or has ended. So two attempts that both look for a row before either of them
inserts it do so in each run.

Two different events may change a row in different ways, so it matters which one is held. The other
one only begins when that one is at the point, and has ended when it goes on. So one that has read a
row before the other one changes it writes it back afterwards in each run.

If the app makes the other one wait, for a lock, say, a limit of real seconds ends the hold.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from statistics import median
from threading import Event
from types import FunctionType
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from ..base.forks import new_lock
from ..base.views import ordinal
from ..domain.instants import SECOND
from ..transport.client.cancellable import Cancellable, around
from ..transport.client.loops import running_framework
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from ..transport.client.worker import Worker
from ..transport.client.wsgi import around_call
from ..webhooks.attending import Attend
from .client_calls import short_name
from .database_calls import call_and_listen
from .stepping import (
    follow_into_threads,
    follow_new_tasks,
    followed,
    set_until_closed,
    waiting_lines,
)
from .tripwires import set_tripwire

T = TypeVar("T")

#: Real seconds that an attempt is held at most, unless the other one has to end meanwhile and is
#: slow. Where a hold has ended by the limit, the next one very likely will, too, so its limit is
#: shorter; but not so short that an attempt which the app doesn't delay would take longer.
_LIMIT: Final = 0.2
_NEXT: Final = 1 / 4
_LEAST: Final = 0.01
_UNDELAYED: Final = 3

#: How long one of two events is held at most by a test, which doesn't know how slow the app is.
BY_HAND: Final = 1.0

#: How much of the fake's timeout all holds of a meeting may take, so that they end no attempt.
_SHARE: Final = 1 / 5

#: How many further real seconds an attempt is held while another one is away.
_AWAY: Final = 1.0

_is_away: ContextVar[bool] = ContextVar("pytest_chatfake_is_away", default=False)

#: The blocks of all threads that are away.
_away: Final[set[object]] = set()

_guest: ContextVar[Guest | None] = ContextVar("pytest_chatfake_guest", default=None)


@contextmanager
def away() -> Generator[None]:
    """Take no part in a meeting during a block, in which an app is made; others wait longer."""
    block, token = object(), _is_away.set(True)
    _away.add(block)
    try:
        yield
    finally:
        _away.discard(block)
        _is_away.reset(token)


class Point(NamedTuple):
    """Where two attempts meet.

    Attributes:
        kind, name: As of a :class:`.CrashPoint`.
        nth: Which time that each of them comes there; None: each time.
    """

    kind: str
    name: str
    nth: int | None = 1

    def __str__(self) -> str:
        """Return the point in words: ``before the 2nd Session.commit``."""
        is_later = self.nth is not None and self.nth > 1
        which = "each " if self.nth is None else f"the {ordinal(self.nth)} " * is_later
        if self.kind != "line":
            return f"{self.kind} {which}{self.name}"
        return f"at {self.name}" + f" for {which}time" * is_later


class Limits:
    """How long an attempt is held at most, by point.

    Attributes:
        most: The limit, in real seconds, where no hold has ended by it.
        least: The shortest limit.
        longest: The real seconds that the app takes for an attempt at most, if nothing delays it.
    """

    def __init__(self) -> None:
        self.most: float = _LIMIT
        self.least: float = _LEAST
        self.longest: float = 0
        self._shortened: dict[tuple[str, str], float] = {}

    def note_lengths(self, lengths: Sequence[int]) -> None:
        """Note how many nanoseconds the app takes for attempts that nothing delays."""
        usual = median(lengths) / SECOND if lengths else 0
        self.longest = max(lengths, default=0) / SECOND
        self.most = max(_LIMIT, self.longest * _UNDELAYED)
        self.least = max(_LEAST, usual * _UNDELAYED)

    def of(self, point: Point) -> float:
        """Return the real seconds that an attempt is held there at most, whatever ``nth`` is."""
        return self._shortened.get(point[:2], self.most)

    def shorten(self, point: Point) -> None:
        """Shorten the limit, because a hold has ended by it."""
        self._shortened[point[:2]] = max(self.of(point) * _NEXT, self.least)


class Place:
    """The point at which the attempts of a fault's events meet.

    Args:
        point: The point.
        function: The function whose call is the point; None: a line, or a database call.
        timeout: The fake's timeout, in real seconds.
        make: The class of the meetings.

    Attributes:
        point, function: As given, but with the function's short name.
        limits: How long an attempt is held there at most.
        budget: The real seconds that all holds of a meeting may last in total.
        ends: How meetings ended: the attempts ``"met"``; one was held until the other had
            ``"left"``, or to the ``"limit"``; the app is too ``"slow"`` for the limit, or came
            there too ``"late"``; or the point is a plain function ``"on a loop"``, where holding
            one would stop the other.
    """

    def __init__(
        self,
        point: Point,
        function: FunctionType | None,
        timeout: float,
        make: Callable[[Place], Meeting],
    ) -> None:
        self.budget: float = timeout * _SHARE
        self.limits: Limits = Limits()
        self.ends: set[str] = set()
        self.function = function
        short = function and short_name(function, point.name)
        self.point: Point = point._replace(name=short or point.name)
        self._make = make

    def __call__(self) -> Attend:
        """Begin the meeting of an event, and return what makes its attendants."""
        return self._make(self).invite

    @property
    def has_held(self) -> bool:
        """Whether an attempt was held there for another one."""
        return not self.ends.isdisjoint({"met", "left", "limit", "slow"})

    @property
    def limit(self) -> float:
        """The real seconds that an attempt is held now at most."""
        return min(self.limits.of(self.point), self.budget)


class Meeting:
    """The meeting of two attempts, each of which may be held for the other one.

    Attributes:
        point: Where they meet.
        budget: The real seconds that are left for all its holds.
    """

    #: Whether a hold is for the whole of the other attempt, which may be slow.
    _is_for_a_whole: ClassVar[bool] = False

    def __init__(self, place: Place) -> None:
        self.point: Point = place.point
        self._place = place
        self._function = place.function
        self._lock = new_lock()
        self._present = 0
        self._is_over = False  # one of them has left
        self.budget: float = place.budget
        self._came: Counter[Guest] = Counter()  # how often each one has come to the point
        self._held: Event | None = None  # set when the one that is held can go on
        self._held_at = 0  # how often that one has come
        self._is_followed = False
        self._stack = ExitStack()

    def invite(self) -> Guest:
        """Return the attendant of the next attempt."""
        return Guest(self)

    def begins_after(self, guest: Guest) -> Event | None:  # noqa: ARG002 - see Overtaking
        """Return what an attempt waits for before the app gets it; None: nothing."""
        return None

    def enter(self) -> None:
        """Take part; the first one sets up what both need."""
        with self._lock:
            self._present += 1
            if self._present > 1 or self._is_over:
                return
            if self._function is not None:
                set_tripwire(self._function, self._report, self._stack)
            if self.point.kind != "line":
                follow_into_threads(_for_a_thread, self._stack)

    def leave(self) -> None:
        """Stop taking part, so that the other one is no longer held."""
        with self._lock:
            self._present -= 1
            self._is_over = True
            if self._held is not None:
                self._place.ends.add("left")
            self._let_go()
            if not self._present:
                self._stack.close()

    def follow_tasks(self) -> None:
        """Follow the tasks that the app begins on the running loop."""
        if not self._is_followed:
            self._is_followed = True
            self._stack.callback(follow_new_tasks(_as_task, lambda _: None))

    @property
    def is_at_database(self) -> bool:
        """Whether its point is a database call, which only a thread sees that listens."""
        return self._function is None and self.point.kind != "line"

    @property
    def _limit(self) -> float:
        limit = self._place.limit
        return limit if self._is_for_a_whole else min(limit, _LIMIT)

    def _report(self, kind: str) -> Awaitable[object] | None:
        guest = _guest.get()
        if guest is None or guest.meeting is not self or kind != self.point.kind:
            return None
        if inspect.iscoroutinefunction(self._function):
            return self.come_async(guest)
        if running_framework() is None:
            self.come(guest)
        else:
            self._place.ends.add("on a loop")
        return None

    def come(self, guest: Guest) -> None:
        """Come to the point, and wait there for the other one."""
        if (held := self._arrive(guest)) is not None:
            self._wait(held)

    async def come_async(self, guest: Guest) -> None:
        """Do the same without blocking the loop."""
        if (held := self._arrive(guest)) is not None:
            await _in_a_thread(self._wait, held)

    def _arrive(self, guest: Guest) -> Event | None:
        # Returns what to wait for; None: it goes on.
        if _is_away.get():
            return None
        with self._lock:
            self._came[guest] += 1
            nth = self._came[guest]
            if self._held is not None and nth == self._held_at:
                self._place.ends.add("met")
                self._let_go()
                return None
            is_late = any(self._came[other] >= nth for other in self._came if other is not guest)
            is_here = self.point.nth in {None, nth} and self._limit <= self.budget
            if self._is_over or is_late or not is_here:
                return None
            self._held, self._held_at = Event(), nth
            return self._held

    def _wait(self, held: Event) -> None:
        # Frozen clocks don't stop these waits. In many short ones, the other attempt gets its turns
        # even on an overloaded machine.
        limit = self._limit
        left, more = round(limit / _LEAST), round(_AWAY / _LEAST)
        while left:
            if held.wait(_LEAST):
                return
            if _away and more:
                more -= 1
            else:
                left -= 1
        with self._lock:
            if held is self._held:
                self._held = None
                self.budget -= limit
                place = self._place
                is_slow = self._is_for_a_whole and place.budget < place.limits.longest
                place.ends.add("slow" if is_slow else "limit")
                place.limits.shorten(self.point)

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.set()


class Overtaking(Meeting):
    """The meeting of two attempts of which one is held; meanwhile, the other one begins and ends.

    Args:
        place: Where it is held.
        is_later_held: Whether it is the one that is invited last.
    """

    _is_for_a_whole: ClassVar[bool] = True

    def __init__(self, place: Place, *, is_later_held: bool) -> None:
        super().__init__(place)
        self._is_later_held = is_later_held
        self._guests: list[Guest] = []
        self._can_begin = Event()  # once the one that is held is at the point, or has ended

    def invite(self) -> Guest:
        guest = super().invite()
        self._guests.append(guest)
        return guest

    def begins_after(self, guest: Guest) -> Event | None:
        return None if self._is_held(guest) or len(self._guests) == 1 else self._can_begin

    def leave(self) -> None:
        super().leave()
        self._can_begin.set()

    def _is_held(self, guest: Guest) -> bool:
        return (guest is self._guests[0]) is not self._is_later_held

    def _arrive(self, guest: Guest) -> Event | None:
        if _is_away.get() or not self._is_held(guest):
            return None
        with self._lock:
            self._came[guest] += 1
            if self._came[guest] != self.point.nth:
                return None
            if self._is_over:
                self._place.ends.add("late")
                return None
            self._held = Event()
            self._can_begin.set()
            return self._held


class Guest:
    """Accompanies one of the two attempts; it is an :class:`.Attendant`.

    Attributes:
        meeting: The meeting.
        effect, stopped: It does nothing to the app.
    """

    effect: str = ""
    stopped: ConnectionResetError | None = None

    def __init__(self, meeting: Meeting) -> None:
        self.meeting = meeting
        self._has_begun = False  # the app has got the attempt
        self._is_running = False
        self._stack = ExitStack()

    def begin(self, target: Target) -> None:  # noqa: ARG002 - an attendant's
        """Take part in the meeting."""
        set_until_closed(_guest, self, self._stack)
        set_until_closed(around, self.run, self._stack)
        set_until_closed(around_call, self.call, self._stack)
        self._stack.callback(self.meeting.leave)
        self.meeting.enter()

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        """Return the result unchanged."""
        return result

    def end(self) -> None:
        """Leave the meeting."""
        self._stack.close()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call an app's code in the running thread."""
        token = _guest.set(self)  # a pool's thread may have another context
        try:
            if (begins := self._begins_after()) is not None:
                begins.wait(self.meeting.budget)
            if self.meeting.is_at_database:
                return call_and_listen(self._hear, function, *args)
            return function(*args)
        finally:
            _guest.reset(token)

    def _hear(self, kind: str, name: str) -> None:
        if (kind, name) == self.meeting.point[:2]:
            self.meeting.come(self)

    async def run(self, cancellable: Cancellable, key: object, awaitable: Awaitable[T]) -> T:
        """Await an app's code, and hold it where it awaits."""
        if (begins := self._begins_after()) is not None:
            awaitable = _awaited_after(begins, self.meeting.budget, awaitable)
        if self._is_running or self.meeting.point.kind != "line":  # or the app uses another fake
            return await cancellable.run(key, awaitable)
        self._is_running = True
        self.meeting.follow_tasks()
        return await cancellable.run(key, self.followed(_awaited(awaitable)))

    def _begins_after(self) -> Event | None:
        # What it waits for now, before the app gets it.
        has_begun, self._has_begun = self._has_begun, True
        return None if has_begun else self.meeting.begins_after(self)

    def followed(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Await a coroutine of the app, and hold it where it awaits."""
        return followed(coroutine, self._look)

    def _look(self, awaited: object) -> Callable[[], Awaitable[object]] | None:
        lines = waiting_lines(awaited)
        is_here = bool(lines) and lines[-1] == self.meeting.point.name
        # Once the code can go on.
        return partial(self.meeting.come_async, self) if is_here else None


def _for_a_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    guest = _guest.get()
    return function if guest is None else partial(guest.call, function)


def _as_task(coroutine: Any) -> Coroutine[Any, Any, Any] | None:
    guest = _guest.get()
    return None if guest is None else _awaited(guest.followed(coroutine))


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def _awaited_after(begins: Event, limit: float, awaitable: Awaitable[T]) -> T:
    try:
        await _in_a_thread(begins.wait, limit)
    except BaseException:
        if isinstance(awaitable, Coroutine):
            awaitable.close()  # or Python warns that it was never awaited
        raise
    return await awaitable


async def _in_a_thread(wait: Callable[..., object], *args: Any) -> None:
    # Wait without blocking the loop.
    worker = Worker("chatfake-hold")
    try:
        await worker.call_async(wait, *args)
    finally:
        worker.close()
