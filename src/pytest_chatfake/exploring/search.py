"""The search: which worlds there are, in which order they are tried, and which of them are equal.

Theory of operation
-------------------
A world is a set of deviations. It grows by one deviation from the log of a world that was run, so
the search needs no model of the app: what was attempted there is what can deviate next.

Worlds with fewer deviations are tried first, and among those with as many, in this order: all
deviations about one message before those about several; then those that move attempts less far.
So the first world that fails is a simple one.

Two worlds are equal if the same attempts reach the app in the same order, at the same moments, and
between the same barriers: an app that does the same on the same can't tell them apart, nor can a
test that looks at barriers. Only a first attempt that comes in its place makes another world if it
is a retry, as its request may say. A world that turns out to be equal to an earlier one does not
count, and no others grow from it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

from ..webhooks.faults import Concurrently
from .deviations import CRASHING, DEFAULT, KINDS, OPEN, STATUS, Call, Deviation, moved


class LoggedAttempt(NamedTuple):
    """An attempt, as the log of a world has it.

    Attributes:
        number: Which first attempt it was, as ``start=`` counts them; a repeat has the same.
        item: Which event at which endpoint, the same in every world; negative: it never reached
            the app.
        message: The number of the message that it is about; negative: of a recorded one; 0: none.
        status: The event's status; empty: it has none.
        name: The event's name; of several with the same one, from the second on with its number.
        endpoint: The name of the endpoint, if there are several.
        overlaps: Whether it can be made at the same time as another one.
        round: The number of the round in which that happened; 0: it did not.
        points: Where the app can crash in it.
        crash: How it has crashed in it, or which error it got; empty: it has not.
        is_retry: Whether the service has made it before, as its request may say.
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


class LoggedCall(NamedTuple):
    """A call of the app, as the log of a world has it.

    Attributes:
        number: Which call of the same method and path it was.
        call: Its path and method.
        has_late_webhooks: Whether it caused webhooks that came after its response.
        is_delivered_later: Whether a message of it was delivered after its response, at the same
            moment.
    """

    number: int
    call: Call
    has_late_webhooks: bool
    is_delivered_later: bool = False

    def ways(self, kind: str) -> list[tuple[tuple[str, int], ...]]:
        """Return the further arguments of the deviations of a kind that it can have."""
        error = (("status", STATUS),)
        if kind == "webhooks_first":
            delivered = [(("delivered", True),)] * self.is_delivered_later
            return [*[()] * self.has_late_webhooks, *delivered]
        if kind == "api.fail":
            return [error]
        is_query = self.call.method in {"GET", "HEAD"}  # has no effect: as if it were refused
        return [()] if is_query else [(), error]


#: The attempts of a world, in order; None: a barrier.
Attempts: TypeAlias = Sequence[LoggedAttempt | None]
Key: TypeAlias = tuple[object, ...]


class WorldLog(NamedTuple):
    """What happened in a world, as far as the search needs it.

    Attributes:
        attempts: The attempts and the barriers.
        calls: The calls of the app.
        unseen: The deviations that fired, and that neither the order nor the moments of attempts
            show.
        moments: When each attempt was made; of a barrier, each moment at which there was one.
        waits: From when until when ``settle()`` has moved time for a repeat or a retry.
        session: How long a session lasts, in nanoseconds.
        waiting: Those that were to be attempted, and were not yet, by their numbers.
        errors: By the name of a crash point, the exception class that it raises.
    """

    attempts: Attempts
    calls: Sequence[LoggedCall] = ()
    unseen: frozenset[Deviation] = frozenset()
    moments: Sequence[tuple[int, ...]] = ()
    waits: Sequence[tuple[int, int]] = ()
    session: int = 0
    waiting: Mapping[int, LoggedAttempt] = {}
    errors: Mapping[str, str] = {}

    @property
    def key(self) -> Key:
        """What equal worlds have in common."""
        pairs = zip(self.attempts, self.moments, strict=True)
        reached = [at for attempt, at in pairs if attempt is None or attempt.item >= 0]
        return (self.order, self.unseen, *reached)

    @property
    def order(self) -> Key:
        """What reached the app, and in which order.

        An event counts as another one if its first attempt is a retry, though no later event came
        before it: an app that drops retries loses it.
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
        """Return how long after an attempt the body has moved time, in nanoseconds.

        What ``settle()`` waits by itself does not count: an event that is delayed by that might
        never come.
        """

        def moved_until(moment: int) -> int:
            return moment - sum(end - began for began, end in self.waits if end <= moment)

        start, *later = map(moved_until, chain.from_iterable(self.moments[index:]))
        return {moment - start for moment in later if moment > start}


class _Candidate(NamedTuple):
    """A world that can be tried; sorted as they are tried.

    Attributes:
        is_spread: Whether its deviations concern several messages.
        distance: Past how many attempts they move one, together.
        order: The index of the last one's kind, and which attempts deviate.
        deviations: The deviations.
    """

    is_spread: bool
    distance: int
    order: tuple[int, ...]
    deviations: tuple[Deviation, ...]


#: A deviation, with how far it moves an attempt.
_Found: TypeAlias = tuple[int, Deviation]


class _Slot(NamedTuple):
    """An attempt that may deviate.

    Attributes:
        attempt: The attempt.
        position: Its index in the log.
        after: How many attempts follow it in all.
        near: How many follow it before the next barrier.
    """

    attempt: LoggedAttempt
    position: int
    after: int
    near: int


class _Options:
    """The deviations that a world can have beside those that it has.

    Attributes:
        log: The log of the world.
        taken: The deviations that it has.
        slots: The attempts that may deviate, by their numbers.
    """

    def __init__(self, log: WorldLog, taken: Sequence[Deviation]) -> None:
        self.log = log
        self.taken = taken
        deviating = {deviation.start for deviation in taken if deviation.is_of_an_attempt}
        slots: dict[int, _Slot] = {}
        after = near = 0
        for index, attempt in reversed([*enumerate(log.attempts)]):  # the first of repeats stays
            if attempt is None:
                near = 0
                continue
            if attempt.number and attempt.number not in deviating:
                slots[attempt.number] = _Slot(attempt, index, after, near)
            after, near = after + 1, near + 1
        self.slots: dict[int, _Slot] = dict(sorted(slots.items()))

    def of(self, kind: str) -> Iterator[_Found]:
        """Give the deviations of a kind, the nearest first."""
        row = KINDS[kind]
        if row.concerns == "everything":
            ways = [(("unknown", path),) for path in OPEN] if row.more else [()]
            return iter([(0, Deviation(kind, 1, 0, more)) for more in ways])
        if row.concerns == "call":
            return self._calls(kind)
        if kind in CRASHING:
            return self._crashes(kind)
        if kind == "read_at_once":
            return self._reads(kind)
        return self._pauses(kind) if row.is_time else self._moves(kind)

    def _moves(self, kind: str) -> Iterator[_Found]:
        """Move attempts, or their repeats, past others."""
        fitting = {
            start: KINDS[kind].distances(slot.after, slot.near)
            for start, slot in self.slots.items()
            if KINDS[kind].fault is not Concurrently or slot.attempt.overlaps
        }
        argument = KINDS[kind].extent
        for distance in range(max((fits.stop for fits in fitting.values()), default=0)):
            for start, fits in fitting.items():
                if distance in fits:
                    yield distance, moved(kind, start, distance if argument else 0)

    def _pauses(self, kind: str) -> Iterator[_Found]:
        """Make attempts whenever the body has moved time; repeats also when a session is over."""
        more = {self.log.session} if kind == "duplicate_later" else set[int]()
        for start, slot in sorted(self.slots.items(), key=lambda item: item[1].after):
            for pause in sorted(more | self.log.pauses(slot.position)):
                yield slot.after, Deviation(kind, start, pause)

    def _crashes(self, kind: str) -> Iterator[_Found]:
        """Crash the app at each of its points; or let it get an error, where that kind can be."""
        raises: Mapping[str, str] = self.log.errors if kind == "error" else {}
        for start, slot in self.slots.items():
            for where, name, nth in slot.attempt.points:
                if where not in KINDS[kind].more:
                    continue
                more: list[tuple[str, Any]] = [(where, name)]
                more += [("nth", nth)] * (nth > 1)
                more += [("raises", raises[name])] if name in raises else []
                yield 0, Deviation(kind, start, 0, tuple(more))

    def _reads(self, kind: str) -> Iterator[_Found]:
        """Drop the deliveries of a message before it is read, if no other one is between them."""
        delivered: list[int] = []  # the messages
        for slot in self.slots.values():
            message, status = slot.attempt.message, slot.attempt.status
            if status == "delivered":
                delivered.append(message)
            elif status == "read" and message in delivered:
                first, times = delivered.index(message), delivered.count(message)
                if delivered[first : first + times] == [message] * times:
                    yield 0, Deviation(kind, first + 1, times, (("status", "delivered"),))

    def _calls(self, kind: str) -> Iterator[_Found]:
        """Let calls go wrong; of one call, the webhooks may come first and its response be lost."""
        both = {"webhooks_first", "api.lose_response"}
        taken = {(other.start, other.call) for other in self.taken if {other.kind, kind} != both}
        for logged in sorted(self.log.calls, key=attrgetter("number")):
            number, call = logged.number, logged.call
            if (number, call) not in taken:
                for more in logged.ways(kind):
                    yield 0, Deviation(kind, number, 0, (*more, *call._asdict().items()))


def possible_deviations(
    log: WorldLog, kinds: Sequence[str], taken: Sequence[Deviation]
) -> Iterator[_Found]:
    """Give the deviations that a world has room for, with their distances, the shortest first."""
    options = _Options(log, taken)
    streams = (options.of(kind) for kind in kinds if not (taken and KINDS[kind].is_alone))
    return heapq.merge(*streams, key=itemgetter(0))


#: A world that was run, from which others grow: its deviations, and its log.
_Parent: TypeAlias = tuple[tuple[Deviation, ...], WorldLog]


class Search:
    """Which worlds are tried.

    Attributes:
        cut: What ended the search before all were tried; empty: nothing did.
        left_out: The kinds that can't be tried, and why.
    """

    def __init__(self, kinds: Sequence[str], depth: int, limit: int) -> None:
        self._kinds = kinds
        self._depth = depth
        self._limit = limit
        self._seen: set[Key] = set()
        self._written: WorldLog | None = None
        self._new: WorldLog | None = None  # of the world that was run last, if it is a new one
        self.cut: str = ""
        self.left_out: dict[str, str] = {}

    @property
    def worlds(self) -> int:
        """How many different worlds were tried."""
        return len(self._seen)

    def worlds_to_try(self) -> Iterator[tuple[Deviation, ...]]:
        """Give the deviations of one world after another; :meth:`add` follows each that passed.

        The first has none: it is the body as written. From one that turns out to be equal to an
        earlier world, none grow.
        """
        yield ()
        assert self._written is not None
        parents: list[_Parent] = [((), self._written)]
        for _ in range(self._depth):
            grown: list[_Parent] = []
            for deviations in self._grow(parents):
                if not self.left_out.keys().isdisjoint(d.kind for d in deviations):
                    continue
                if self.worlds >= self._limit:
                    self.cut = f"limit={self._limit}"
                    return
                self._new = None
                yield deviations
                if self._new is not None and not any(KINDS[d.kind].is_alone for d in deviations):
                    grown.append((deviations, self._new))
            parents = grown

    def add(self, log: WorldLog) -> None:
        """Take the log of a world that was run, which may be equal to one before."""
        self._written = self._written or log
        if (key := log.key) not in self._seen:
            self._seen.add(key)
            self._new = log

    def without_options(self) -> list[str]:
        """Return the kinds of which the body as written had nothing to try.

        Those of the default count where they were asked for by name: each body lacks some of them.
        """
        if not self._depth:
            return []
        asked = [kind for kind in self._kinds if kind not in DEFAULT or {*DEFAULT} - {*self._kinds}]
        assert self._written is not None
        options = _Options(self._written, ())
        return [kind for kind in asked if next(options.of(kind), None) is None]

    def _grow(self, parents: Sequence[_Parent]) -> Iterator[tuple[Deviation, ...]]:
        """Give the worlds that have one deviation more, in the order in which they are tried."""
        found: set[frozenset[Deviation]] = set()
        streams = (
            self._children(parent, is_spread=spread)
            for parent in parents
            for spread in (False, True)
        )
        for candidate in heapq.merge(*streams):
            alike = frozenset(candidate.deviations)
            if alike not in found:
                found.add(alike)
                yield candidate.deviations

    def _children(self, parent: _Parent, *, is_spread: bool) -> Iterator[_Candidate]:
        """Give those that grow from one world, sorted, so that all can be merged."""
        taken, log = parent
        messages = {attempt.number: attempt.message for attempt in log.attempts if attempt}
        concerned = {messages.get(d.start) for d in taken if d.is_of_an_attempt}
        before = sum(d.extent for d in taken if not KINDS[d.kind].is_time)
        alike = {
            kind: KINDS[row.alike].least
            for kind, row in KINDS.items()
            if row.alike in self._kinds and any(d.kind != kind for d in taken)
        }
        for distance, new in possible_deviations(log, self._kinds, taken):
            if distance >= alike.get(new.kind, math.inf):
                continue
            is_same = new.is_of_an_attempt and concerned == {messages.get(new.start)}
            if bool(taken and not is_same) == is_spread:
                deviations = (*taken, new)
                order = (self._kinds.index(new.kind), *sorted(d.start for d in deviations))
                yield _Candidate(is_spread, before + distance, order, deviations)
