"""The search: which worlds exist, in which order they are tried, and which are equal.

Theory of operation
-------------------
A world is a set of deviations. A world's log shows which worlds with one more deviation can follow.
So the search needs no model of the app: whatever was attempted can deviate next.

Worlds with fewer deviations come first; then worlds about one message; then worlds that move
attempts less far. So the first world that fails is a simple one.

Runs that look identical to the app count as one world: the same attempts, in the same order, at the
same moments, between the same barriers. There is one exception: a first attempt that is a retry,
because its request may say so. A world that turns out to equal an earlier one isn't extended.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from types import FunctionType
from typing import Final, NamedTuple, TypeAlias

from ..webhooks.faults import ONE_AT_A_TIME, Concurrently
from .client_calls import is_client_call
from .deviations import CRASHING, DEFAULT, KINDS, POSTED, Call, Deviation
from .posted_fields import Way

#: The types of events that stand for a call of the app's own code.
CALLS: Final = ("send()", "work()")

#: Why two events can't be forced to race, although one follows the other.
_NOWHERE: Final = (
    "nowhere to hold an event: your handler never awaits and calls no database. Name the function "
    "that writes: crash_points = [Session.commit]"
)

#: Before how many database calls of the same name, the last ones, an event is held. An app reads
#: before it writes.
_CALLS: Final = 4


#: The kinds of an exploration whose worlds may have several races.
RACES: Final = ("two_events_at_once",)


class LoggedAttempt(NamedTuple):
    """An attempt in a world's log.

    Attributes:
        number: Which first attempt it was, as ``start=`` counts them; a repeat has the same number.
        item: The number of its event at its endpoint, the same in every world; negative: it never
            reached the app.
        message: The number of its message; negative: a recorded one; 0: none.
        status: The event's status; empty: it has none.
        name: The event's name; if several events have the same, from the second on with a number.
        endpoint: The name of the endpoint, if there are several.
        overlaps: Whether it can be made at the same time as another one.
        round: A number that attempts at the same time share; 0: it was made alone.
        points: Where the app can crash during it.
        crash: How the app crashed during it, or which error it got; empty: neither.
        is_retry: Whether the service retries it, as its request may say.
        calls: How many database calls were made during it, by name.
        call: The API call before whose response it was made, by a fault; empty: none.
        is_call: Whether it stands for a call of the app's own code, such as ``send()``.
        at: The number of its endpoint.
    """

    number: int
    item: int
    message: int
    status: str
    name: str
    endpoint: str
    overlaps: bool
    round: int = 0
    points: Sequence[tuple[str, str, int]] = ()
    crash: str = ""
    is_retry: bool = False
    calls: Mapping[str, int] = {}
    call: str = ""
    is_call: bool = False
    at: int = 0


class LoggedCall(NamedTuple):
    """A call of the app in a world's log.

    Attributes:
        number: Which call with this method and path it was.
        call: Its path and method.
        has_late_webhooks: Whether it caused webhooks that were posted after its response.
        delivered: To how many devices each of its messages was delivered after its response, at the
            same moment, by one verb after another.
        is_in_attempt: Whether it was made while the app handled an event.
    """

    number: int
    call: Call
    has_late_webhooks: bool
    delivered: tuple[int, ...] = ()
    is_in_attempt: bool = False

    def ways(self, kind: str) -> tuple[Way, ...]:
        """Return the further arguments with which a kind can deviate the call: one set per way."""
        ways = KINDS[kind].ways
        if kind == "webhooks_first":
            devices = self.delivered[0] if len(self.delivered) == 1 else self.delivered
            delivered = (("delivered", devices if devices != 1 else True),)
            return (*ways[:1] * self.has_late_webhooks, *[delivered] * bool(devices))
        # A query has no effect, so an error afterwards is the same as a refusal.
        return ways[:1] if self.call.method in {"GET", "HEAD"} else ways


class CheckedOptions(NamedTuple):
    """The checked options of an exploration, which :meth:`.Explorer.__call__` explains."""

    kinds: tuple[str, ...] = DEFAULT
    limit: int = 500
    depth: int = 2
    seconds: float | None = None
    only: tuple[Deviation, ...] | None = None
    crash_points: Mapping[FunctionType, str] | None = None  # None: no crashes or errors are tried
    errors: Mapping[str, str] = {}  # the exception classes that they raise, by name
    all_kinds: bool = False  # "all", not single kinds
    stop_at_first: bool = False
    may_miss_points: bool = False  # those that the app never calls are left out
    runs_again: bool = False  # the body as written again, if there is nothing else
    calls_count: bool = False  # the app's calls of the API are crash points as well


#: The attempts of a world, in order; None: a barrier.
Attempts: TypeAlias = Sequence[LoggedAttempt | None]
Key: TypeAlias = tuple[object, ...]


class WorldLog(NamedTuple):
    """What happened in a world, as far as the search needs it.

    Attributes:
        attempts: The attempts and the barriers.
        calls: The calls of the app.
        unseen: The deviations that fired without a trace in the order and moments of attempts.
        moments: When each attempt was made; for a barrier, all its moments.
        waits: The start and end of each clock move by ``settle()`` itself.
        session: How long a session lasts, in nanoseconds.
        waiting: By number, what had not been attempted yet.
        errors: The exception classes, by the crash points that raise them.
        held: Where deviations held an attempt for another one, in words.
        met: For which of them the other one came there as well.
        has_routes: Whether there are routes that the app could call.
        posted: The changes of fields that ``outbound=`` wrote, by kind.
    """

    attempts: Attempts
    calls: Sequence[LoggedCall] = ()
    unseen: frozenset[Deviation] = frozenset()
    moments: Sequence[tuple[int, ...]] = ()
    waits: Sequence[tuple[int, int]] = ()
    session: int = 0
    waiting: Mapping[int, LoggedAttempt] = {}
    errors: Mapping[str, str] = {}
    held: Mapping[Deviation, str] = {}
    met: frozenset[Deviation] = frozenset()
    has_routes: bool = False
    posted: Mapping[str, tuple[Way, ...]] = {}

    @property
    def key(self) -> Key:
        """What equal worlds have in common."""
        pairs = zip(self.attempts, self.moments, strict=True)
        reached = [at for attempt, at in pairs if attempt is None or attempt.item >= 0]
        return (self.order, self.unseen, *reached)

    @property
    def order(self) -> Key:
        """What reached the app, and in which order.

        A first attempt that is a retry, without having been overtaken, counts as another event,
        because an app that ignores retries would lose it.
        """
        reached: list[int] = []
        last = 0
        rounds: dict[int, list[int]] = {}
        for attempt in self.attempts:
            if attempt is None:
                reached.append(0)
                continue
            if attempt.item >= 0:
                is_in_place = attempt.item > last
                reached.append(-attempt.item if is_in_place and attempt.is_retry else attempt.item)
                last = max(last, attempt.item)
            if attempt.round:
                rounds.setdefault(attempt.round, []).append(attempt.item)
        return (*reached, *map(tuple, rounds.values()))

    def pauses(self, index: int) -> set[int]:
        """Return how far the body moved time after an attempt, in nanoseconds.

        The waits of ``settle()`` don't count: a delay that relies on them might never end.
        """

        def moved_until(moment: int) -> int:
            return moment - sum(end - began for began, end in self.waits if end <= moment)

        start, *later = map(moved_until, chain.from_iterable(self.moments[index:]))
        return {moment - start for moment in later if moment > start}


class _Candidate(NamedTuple):
    """A world to try.

    Attributes:
        is_spread: Whether its deviations concern several messages.
        distance: How many attempts they move past, in total.
        order: The index of the last one's kind, and which attempts deviate.
        deviations: The deviations.
    """

    is_spread: bool
    distance: int
    order: tuple[int, ...]
    deviations: tuple[Deviation, ...]

    def rank(self) -> tuple[bool, int, tuple[int, ...]]:
        """Return what sorts candidates; not the deviations, whose arguments are of any type."""
        return self.is_spread, self.distance, self.order


#: A deviation, and how far it moves an attempt.
_Found: TypeAlias = tuple[int, Deviation]


class _Slot(NamedTuple):
    """An attempt that may deviate.

    Attributes:
        attempt: The attempt.
        position: Its index in the log.
        after: How many attempts follow it in total.
        near: How many follow it before the next barrier.
        peers: How many follow it up to the last one before that with which it can overlap.
    """

    attempt: LoggedAttempt
    position: int
    after: int
    near: int
    peers: int


class _Options:
    """The deviations that can be added to a world.

    Attributes:
        log: The log of the world.
        taken: The deviations that the world already has.
        slots: The attempts that may deviate, by number.
    """

    def __init__(self, log: WorldLog, taken: Sequence[Deviation]) -> None:
        self.log = log
        self.taken = taken
        deviating = {deviation.start for deviation in taken if deviation.is_of_an_attempt}
        slots: dict[int, _Slot] = {}
        after = near = peers = 0
        # Reversed, so that the first of several repeats stays.
        for index, attempt in reversed([*enumerate(log.attempts)]):
            if attempt is None:
                near = peers = 0
                continue
            if attempt.number and attempt.number not in deviating:
                slots[attempt.number] = _Slot(attempt, index, after, near, peers)
            after, near = after + 1, near + 1
            peers += peers > 0 or attempt.overlaps
        self.slots: dict[int, _Slot] = dict(sorted(slots.items()))

    def of(self, kind: str) -> Iterator[_Found]:
        # The nearest first.
        traits = KINDS[kind]
        if traits.concerns == "everything":
            ways = (*traits.ways, *self.log.posted.get(kind, ()))
            return iter([(0, Deviation(kind, 1, 0, way)) for way in ways])
        if traits.concerns == "call":
            return self._calls(kind)
        if kind in CRASHING:
            return self._crashes(kind)
        if kind == "read_at_once":
            return self._reads(kind)
        if kind == "two_events_at_once":
            return self._pairs(kind)
        if traits.is_late and not (self.log.calls or self.log.has_routes):
            return iter(())
        return self._pauses(kind) if traits.is_time else self._moves(kind)

    def _moves(self, kind: str) -> Iterator[_Found]:
        traits = KINDS[kind]
        meets = traits.fault is Concurrently
        reached = [
            zip(traits.distances(slot.after, slot.peers if meets else slot.near), repeat(start))
            for start, slot in self.slots.items()
            if slot.attempt.overlaps or not meets
        ]
        for distance, start in heapq.merge(*reached):
            extent = distance if traits.extent else 0
            for more in self._meetings(start) if traits.more else traits.ways:
                yield distance, Deviation(kind, start, extent, more)

    def _meetings(self, start: int) -> Sequence[Way]:
        # Where two attempts can meet, if nothing else deviates. There may be many database calls,
        # so one world has all that have the same name.
        attempt = self.slots[start].attempt
        points = [_at(*point) for point in attempt.points]
        calls = [(("before", name), ("nth", None)) for name in _database_calls(attempt)]
        return ([] if self.taken else [*points, *calls]) or [()]

    def _pairs(self, kind: str) -> Iterator[_Found]:
        # At each point that one event reaches, it is held while the other one is handled. Which one
        # it is makes a difference if their statuses differ, above all if one of them has a price.
        races = self.races()
        both = max(races, key=_loses_a_price, default=None)
        for race in sorted(races, key=itemgetter(2)):
            first, second, distance = race
            holds = _holds(first)
            if race is both and first.status != second.status:
                holds += [(("held", "later"), *hold) for hold in _holds(second)]
            for more in holds:
                yield distance, Deviation(kind, first.number, distance, more)

    def races(self) -> Collection[_Race]:
        """Return which two events race, and how far they are apart.

        The code that handles events goes by their status, so one pair is enough for each two
        statuses of a message; and for each status of two messages, which may change the same sum.
        It is the nearest such pair and, of several, the last, because a later event of its message
        could hide what is lost. An event isn't held back past another one of its message, which
        would be another order.
        """
        found: dict[Key, _Race] = {}
        for slot in self.slots.values():
            first = slot.attempt
            later = self.log.attempts[slot.position + 1 :][: slot.near]
            for distance, second in enumerate(later, 1):
                if second is None or second.at != first.at or second.is_retry:
                    continue
                is_same = first.message != 0 and first.message == second.message
                if first.overlaps and (is_same or first.status == second.status):
                    key = is_same, first.at, first.status, second.status
                    if key not in found or distance <= found[key][2]:
                        found[key] = first, second, distance
                if is_same:
                    break
        return found.values()

    def _pauses(self, kind: str) -> Iterator[_Found]:
        # Wherever the body moves time and, if a kind moves time itself, also after a session's end.
        more = {self.log.session} if KINDS[kind].moves_time else set[int]()
        for start, slot in sorted(self.slots.items(), key=lambda item: item[1].after):
            for pause in sorted(more | self.log.pauses(slot.position)):
                yield slot.after, Deviation(kind, start, pause)

    def _crashes(self, kind: str) -> Iterator[_Found]:
        raises: Mapping[str, str] = self.log.errors if "raises" in KINDS[kind].more else {}
        for start, slot in self.slots.items():
            for where, name, nth in slot.attempt.points:
                if where in KINDS[kind].more:
                    error = (("raises", raises[name]),) if name in raises else ()
                    yield 0, Deviation(kind, start, 0, (*_at(where, name, nth), *error))

    def _reads(self, kind: str) -> Iterator[_Found]:
        # webhooks.lose(times=) loses deliveries in a row, so they have to belong to one message.
        delivered: list[int] = []  # the messages
        for slot in self.slots.values():
            message, status = slot.attempt.message, slot.attempt.status
            if status == "delivered":
                delivered.append(message)
            elif status == "read" and message in delivered:
                first, times = delivered.index(message), delivered.count(message)
                if delivered[first : first + times] == [message] * times:
                    yield 0, Deviation(kind, first + 1, times, *KINDS[kind].ways)

    def _calls(self, kind: str) -> Iterator[_Found]:
        # A call's webhooks may come first *and* its response be lost.
        both = {"webhooks_first", "api.lose_response"}
        taken = {(other.start, other.call) for other in self.taken if {other.kind, kind} != both}
        for logged in sorted(self.log.calls, key=attrgetter("number")):
            number, call = logged.number, logged.call
            if (number, call) not in taken:
                for more in logged.ways(kind):
                    yield 0, Deviation(kind, number, 0, (*more, *call._asdict().items()))


def _at(where: str, name: str, nth: int) -> Way:
    # The arguments of a fault at a point inside the app.
    return (where, name), *[("nth", nth)] * (nth > 1)


#: Two events that race, and how far they are apart.
_Race: TypeAlias = tuple[LoggedAttempt, LoggedAttempt, int]


def _loses_a_price(race: _Race) -> tuple[bool, bool, int]:
    # Sorts races by how likely it is that the later event overwrites a price.
    first, second, _ = race
    return first.status != second.status, first.status == "delivered", first.number


def _holds(attempt: LoggedAttempt) -> list[Way]:
    # Where an event can be held for another one. Before its first database call, it has read
    # nothing yet, and before it commits, it has written.
    points = [_at(*point) for point in attempt.points]
    calls = [
        [_at("before", name, nth + 1) for nth in range(times)]
        for name, times in _database_calls(attempt).items()
        if len(attempt.calls) == 1 or not name.endswith(".commit")
    ]
    calls[:1] = [each[1:] or each for each in calls[:1]]
    points += chain.from_iterable(each[-_CALLS:] for each in calls)
    return points


def _database_calls(attempt: LoggedAttempt) -> Mapping[str, int]:
    # The calls at which it can be held, which only matter if it reached no crash point. That a line
    # awaited says nothing about code in another thread.
    names = (name for where, name, _ in attempt.points if where != "line")
    return attempt.calls if all(map(is_client_call, names)) else {}


def possible_deviations(
    log: WorldLog, kinds: Sequence[str], taken: Sequence[Deviation]
) -> Iterator[_Found]:
    """Yield the deviations that can be added to a world, with their distances, shortest first."""
    options = _Options(log, taken)
    streams = (options.of(kind) for kind in kinds if not (taken and KINDS[kind].is_alone))
    return heapq.merge(*streams, key=itemgetter(0))


#: A world that was run, to be extended: its deviations, and its log.
_Parent: TypeAlias = tuple[tuple[Deviation, ...], WorldLog]


class Search:
    """Decides which world is tried next.

    Attributes:
        cut: Which limit ended the search; empty: none.
        left_out: The kinds that can't be tried, and why.
    """

    def __init__(self, scope: CheckedOptions) -> None:
        self._scope = scope
        self._seen: set[Key] = set()
        self._written: WorldLog | None = None
        self._new: WorldLog | None = None  # the log of the last world, if that one is new
        self.cut: str = ""
        self.left_out: dict[str, str] = {}

    @property
    def worlds(self) -> int:
        """The number of different worlds that were tried."""
        return len(self._seen)

    @property
    def written(self) -> WorldLog:
        """The log of the body as written, once it was added."""
        assert self._written is not None
        return self._written

    def worlds_to_try(self) -> Iterator[tuple[Deviation, ...]]:
        """Yield the deviations of one world after another; call :meth:`add` with each world's log.

        Before the first, call it with the log of the body as written.
        """
        parents: list[_Parent] = [((), self.written)]
        for _ in range(self._scope.depth):
            grown: list[_Parent] = []
            worlds = self._grow(parents)
            for deviations in self._together(worlds) if self._scope.kinds == RACES else worlds:
                if not self.left_out.keys().isdisjoint(d.kind for d in deviations):
                    continue
                if self.worlds >= self._scope.limit:
                    self.cut = f"limit={self._scope.limit}"
                    return
                self._new = None
                yield deviations
                if self._new is not None and not any(d.is_alone for d in deviations):
                    grown.append((deviations, self._new))
            parents = grown

    def add(self, log: WorldLog) -> None:
        """Add the log of a world that passed; it may turn out to equal an earlier one."""
        self._written = self._written or log
        if (key := log.key) not in self._seen:
            self._seen.add(key)
            self._new = log

    def add_again(self, log: WorldLog) -> None:
        """Add another run as written, because a thread may call during an attempt by chance."""
        handled = {each[:2] for each in log.calls if each.is_in_attempt}
        calls = [
            each._replace(is_in_attempt=each.is_in_attempt and each[:2] in handled)
            for each in self.written.calls
        ]
        self._written = self.written._replace(calls=calls)

    def needs(self, kind: str) -> str:
        """Return what the body as written lacks, if it has nothing to try for a kind."""
        overlaps = any(each.overlaps for each in self.written.attempts if each is not None)
        if KINDS[kind].fault is Concurrently and not overlaps:
            return ONE_AT_A_TIME
        if kind in RACES and _Options(self.written, ()).races():
            return _NOWHERE
        return KINDS[kind].needs

    def without_options(self) -> list[str]:
        """Return the kinds for which the body as written has nothing to try.

        Default kinds only count if they were requested by name, because every body lacks some of
        them.
        """
        if not self._scope.depth:
            return []
        kinds = self._scope.kinds
        asked = [kind for kind in kinds if kind not in DEFAULT or {*DEFAULT} - {*kinds}]
        if {*asked} - {*POSTED}:  # only a provider's own shape has these
            asked = [kind for kind in asked if kind not in POSTED]
        options = _Options(self.written, ())
        return [kind for kind in asked if next(options.of(kind), None) is None]

    def _grow(self, parents: Sequence[_Parent]) -> Iterator[tuple[Deviation, ...]]:
        found: set[frozenset[Deviation]] = set()
        streams = (
            self._children(parent, is_spread=spread)
            for parent in parents
            for spread in (False, True)
        )
        for candidate in heapq.merge(*streams, key=_Candidate.rank):
            deviations = frozenset(candidate.deviations)
            if deviations not in found:
                found.add(deviations)
                yield candidate.deviations

    def _together(self, worlds: Iterable[tuple[Deviation, ...]]) -> Iterator[tuple[Deviation, ...]]:
        # Races of other events don't disturb each other, so one world has several of them.
        # Reversed, so that the first of several repeats stays.
        attempts = reversed([*enumerate(self.written.attempts)])
        places = {each.number: place for place, each in attempts if each}
        left = sorted(chain.from_iterable(worlds), key=attrgetter("start"))
        while left:
            group = list[Deviation]()
            end = -1
            for race in left:
                if places[race.start] > end:
                    group.append(race)
                    end = places[race.start] + race.extent
            left = [race for race in left if race not in group]
            yield tuple(group)

    def _children(self, parent: _Parent, *, is_spread: bool) -> Iterator[_Candidate]:
        # Sorted, so that _grow() can merge them.
        (taken, log), kinds = parent, self._scope.kinds
        messages = {attempt.number: attempt.message for attempt in log.attempts if attempt}
        concerned = {messages.get(d.start) for d in taken if d.is_of_an_attempt}
        before = sum(d.extent for d in taken if not d.traits.is_time)
        least_of_twins = {
            kind: KINDS[traits.twin].least
            for kind, traits in KINDS.items()
            if traits.twin in kinds and any(d.kind != kind for d in taken)
        }
        for distance, new in possible_deviations(log, kinds, taken):
            if distance >= least_of_twins.get(new.kind, math.inf):
                continue
            is_same = new.is_of_an_attempt and concerned == {messages.get(new.start)}
            if bool(taken and not is_same) == is_spread:
                deviations = (*taken, new)
                order = (kinds.index(new.kind), *sorted(d.start for d in deviations))
                yield _Candidate(is_spread, before + distance, order, deviations)
