"""The search: which worlds there are, in which order they are tried, and which of them are equal.

Theory of operation
-------------------
A world is a set of deviations. It grows by one deviation from the log of a world that was run, so
the search needs no model of the app: what was attempted there is what can deviate next.

Worlds with fewer deviations are tried first, and among those with as many, in this order: all
deviations about one message before those about several; then those that move attempts less far.
So the first world that fails is a simple one.

Two worlds are equal if the same attempts reach the app in the same order: an app that does the same
on the same can't tell them apart. For most worlds that order is known before they are run
(:func:`predicted_key`), and if it was seen already, the world is not run. Calls whose webhooks come
first, pauses, attempts at the same time, and whatever the app causes by itself, can't be
predicted: such worlds are run, and compared afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from ..webhooks.fault_kinds import effect_of
from .deviations import KINDS, Deviation

#: How many worlds that were not run are counted, to say how many there are at least.
_COUNTED: Final = 2_000


class LoggedAttempt(NamedTuple):
    """An attempt, as the log of a world has it.

    Attributes:
        number: Which first attempt it was, as ``start=`` counts them; a repeat has the same.
        item: Which event at which endpoint, the same in every world; negative: it never reached
            the app.
        message: The number of the message that it is about; 0: none.
        what: The event's status, or its type.
        endpoint: The name of the endpoint, if there are several.
        overlaps: Whether it can be made at the same time as another one.
        round: The number of the round in which that happened; 0: it did not.
    """

    number: int
    item: int
    message: int
    what: str
    endpoint: str
    overlaps: bool
    round: int


#: The attempts of a world, in order; None: a barrier.
Attempts: TypeAlias = Sequence[LoggedAttempt | None]
Key: TypeAlias = tuple[object, ...]


class WorldLog(NamedTuple):
    """What happened in a world, as far as the search needs it.

    Attributes:
        attempts: The attempts and the barriers.
        calls: Which calls caused webhooks that came after their responses.
        raced: Of which calls they came before.
        paused: Which attempts were made again after a pause, and how long that was.
        moments: When each attempt was made; of a barrier, each moment at which there was one.
        session: How long a session lasts, in nanoseconds.
    """

    attempts: Attempts
    calls: tuple[int, ...] = ()
    raced: tuple[int, ...] = ()
    paused: tuple[tuple[int, int], ...] = ()
    moments: Sequence[tuple[int, ...]] = ()
    session: int = 0

    @property
    def key(self) -> Key:
        """What equal worlds have in common: what reached the app, and in which order."""
        reached: list[int] = []
        rounds: dict[int, list[int]] = {}
        for one in self.attempts:
            if one is None:
                reached.append(0)
                continue
            if one.item >= 0:
                reached.append(one.item)
            if one.round:
                rounds.setdefault(one.round, []).append(one.item)
        return (*reached, "|", *self.raced, *self.paused, *map(tuple, rounds.values()))

    def pauses(self, place: int) -> list[int]:
        """Return how long after an attempt its repeat may come, in nanoseconds.

        Whenever the body has moved time since, and when a session that began then is over.
        """
        (start,) = self.moments[place]
        later = {moment - start for moment in chain.from_iterable(self.moments[place:])}
        return sorted(pause for pause in {*later, self.session} if pause > 0)


class _Candidate(NamedTuple):
    """A world that can be tried; sorted as they are tried.

    Attributes:
        is_spread: Whether its deviations concern several messages.
        distance: Past how many attempts they move one, together.
        order: The place of the last one's kind, and which attempts deviate.
        deviations: The deviations.
    """

    is_spread: bool
    distance: int
    order: tuple[int, ...]
    deviations: tuple[Deviation, ...]


#: Past how many attempts each kind can move one, if so many follow it in all, and so many before
#: the next barrier. What the service takes for failed is made again at that barrier.
_DISTANCES: Final[Mapping[str, Callable[[int, int], range]]] = {
    "duplicate": lambda after, _: range(after + 1),
    "reorder": lambda _, near: range(1, near + 1),
    "lose_response": lambda _, near: range(near, near + 1),
    "refuse": lambda _, near: range(near, near + 1),
    "drop": lambda _after, _near: range(1),
    "duplicate_later": lambda after, _: range(after, after + 1),
    "concurrently": lambda _, near: range(near + 1),
}


def possible_deviations(
    log: WorldLog, kinds: Sequence[str], taken: Sequence[Deviation], beyond: int = 0
) -> Iterator[tuple[int, Deviation]]:
    """Give the deviations that a world has room for, with their distances, the shortest first.

    Those that go ``beyond`` its room will have it when so many more deviations are added.
    """
    attempts = log.attempts
    mine = {one.start for one in taken if one.is_of_an_attempt}
    places: dict[int, int] = {}
    for place, one in enumerate(attempts):
        if one is not None and one.number not in mine:
            places.setdefault(one.number, place)
    after = [0] * (len(attempts) + 1)  # how many attempts follow, in all
    near = after.copy()  # and before the next barrier
    for place in reversed(range(len(attempts))):
        is_attempt = attempts[place] is not None
        after[place] = after[place + 1] + is_attempt
        near[place] = near[place + 1] + 1 if is_attempt else 0
    room = {
        number: (after[at] - 1 + beyond, near[at] - 1 + beyond)
        for number, at in sorted(places.items())
    }
    alone = {one.number for one in attempts if one is not None and not one.overlaps}
    raced = {one.start for one in taken if one.kind == "webhooks_first"}
    for distance in range(max((most for most, _ in room.values()), default=0) + 1):
        for kind in kinds:
            if kind == "webhooks_first":
                starts = [call for call in log.calls if call not in raced and not distance]
            else:
                fits = _DISTANCES[kind]
                starts = [number for number in room if distance in fits(*room[number])]
            for start in starts:
                if kind == "duplicate_later":
                    for pause in log.pauses(places[start]):
                        yield distance, Deviation(kind, start, pause)
                elif kind != "concurrently" or start not in alone:
                    yield distance, Deviation(kind, start, distance if KINDS[kind].argument else 0)


def predicted_key(base: Attempts, deviations: Sequence[Deviation]) -> Key:
    """Return the key that a world will have, from the log of the body as written.

    It decides as :class:`.Ordering` does, which orders the real attempts. The tests compare the
    worlds that are run with all that there are, so they fail where the two differ.
    """
    by_number = {one.start: one for one in deviations}
    out: list[int] = []  # 0: a barrier
    made = 0
    waiting: list[tuple[int, int, bool]] = []  # until so many are made; what; a first attempt?
    failed: list[int] = []

    def make(item: int) -> None:
        """Make an attempt, and then what has waited for it."""
        nonlocal made
        out.append(item)
        made += 1
        ready = next((one for one in waiting if one[0] <= made), None)
        if ready is not None:
            waiting.remove(ready)
            make(ready[1])

    end = len(base) - 1
    for place, one in enumerate(base):
        if one is not None:
            deviation = by_number.get(one.number)
            kind, extent = ("", 0) if deviation is None else (deviation.kind, deviation.extent)
            if kind == "reorder":
                waiting.append((made + extent, one.item, True))
                continue
            if kind == "duplicate":
                waiting.append((made + 1 + extent, one.item, False))
            elif kind in {"lose_response", "refuse"}:
                failed.append(one.item)
            make(one.item if effect_of(kind).reaches_app else -one.item)
            continue
        # A barrier: first attempts wait no longer, repeats until the last one. Then what has failed
        # is made again.
        late = [one for one in waiting if one[2] or place == end]
        waiting = [one for one in waiting if one not in late]
        failed, again = [], [*(item for _, item, _ in late), *failed]
        for item in again:
            make(item)
        out.append(0)
    return (*(item for item in out if item >= 0), "|")


class _Parent(NamedTuple):
    """A world that was run, from which others grow by one deviation."""

    deviations: tuple[Deviation, ...]
    log: WorldLog

    @property
    def distance(self) -> int:
        """Past how many attempts its deviations move one, together."""
        return sum(one.extent for one in self.deviations if one.kind != "duplicate_later")


class Search:
    """Which worlds are tried.

    Attributes:
        worlds: How many different worlds were tried.
        cut: What ended the search before all were tried; empty: nothing did.
        races: Whether webhooks may come before the response of their call.
    """

    def __init__(self, kinds: Sequence[str], depth: int, limit: int) -> None:
        self._kinds = kinds
        self._depth = depth
        self._limit = limit
        self._seen: dict[Key, WorldLog] = {}
        self._base: Attempts | None = None
        self._log: WorldLog | None = None
        self._rest: Iterator[tuple[Deviation, ...]] = iter(())
        self.worlds: int = 0
        self.cut: str = ""
        self.races: bool = True

    def worlds_to_try(self) -> Iterator[tuple[Deviation, ...]]:
        """Give the deviations of one world after another; :meth:`add` follows each that passed.

        The first has none: it is the body as written.
        """
        yield ()
        assert self._log is not None
        written = _Parent((), self._log)
        numbers = [one.number for one in self._log.attempts if one is not None]
        # What the body as written repeats by itself can't be predicted in other worlds.
        if len({*numbers}) == len(numbers) and 0 not in numbers:
            self._base = self._log.attempts
        parents = [written]
        for level in range(1, self._depth + 1):
            grown: list[_Parent] = []
            self._rest = self._grow(parents, grown, self._depth - level if level > 1 else 0)
            for deviations in self._rest:
                if self.worlds >= self._limit:
                    self._rest = chain([deviations], self._rest)
                    self.cut = f"limit={self._limit}"
                    return
                self._log = None
                yield deviations
                if self._log is not None and level < self._depth:
                    grown.append(_Parent(deviations, self._log))
            if not grown:  # whatever the depth is
                return
            parents = grown

    def add(self, log: WorldLog) -> None:
        """Take the log of a world that was run, which may be equal to one before."""
        if log.key not in self._seen:
            self._seen[log.key] = self._log = log
            self.worlds += 1

    def lower_bound(self) -> int:
        """Return how many worlds there are at least, if the search was cut."""
        known: set[object] = {*self._seen}
        for deviations in self._rest:
            known.add(self._predicted_key(deviations) or deviations)
            if len(known) - len(self._seen) >= _COUNTED:
                break
        return self.worlds + len(known) - len(self._seen)

    def _predicted_key(self, deviations: tuple[Deviation, ...]) -> Key | None:
        if self._base is None or not all(KINDS[one.kind].is_predictable for one in deviations):
            return None
        return predicted_key(self._base, deviations)

    def _grow(
        self, parents: Sequence[_Parent], grown: list[_Parent], beyond: int
    ) -> Iterator[tuple[Deviation, ...]]:
        """Give the worlds that have one deviation more, in the order in which they are tried.

        One that is equal to an earlier world is not run, and added to ``grown`` with that one's
        log: other attempts of it are free to deviate.
        """
        found: set[frozenset[Deviation]] = set()
        streams = (
            self._children(parent, beyond, is_spread=spread)
            for parent in parents
            for spread in (False, True)
        )
        for candidate in heapq.merge(*streams):
            deviations = candidate.deviations
            alike = frozenset(deviations)
            if alike in found or not (self.races or all(d.is_of_an_attempt for d in deviations)):
                continue
            found.add(alike)
            equal = self._seen.get(self._predicted_key(deviations) or ())
            if equal is None:
                yield deviations
            else:
                grown.append(_Parent(deviations, equal))

    def _children(self, parent: _Parent, beyond: int, *, is_spread: bool) -> Iterator[_Candidate]:
        """Give those that grow from one world, sorted, so that all can be merged."""
        taken, log = parent
        messages = {one.number: one.message for one in log.attempts if one is not None}
        mine = {messages.get(one.start) for one in taken if one.is_of_an_attempt}
        for distance, new in possible_deviations(log, self._kinds, taken, beyond):
            same = not taken or (new.is_of_an_attempt and mine == {messages.get(new.start)})
            if same != is_spread:
                deviations = (*taken, new)
                order = (self._kinds.index(new.kind), *sorted(one.start for one in deviations))
                yield _Candidate(is_spread, parent.distance + distance, order, deviations)
