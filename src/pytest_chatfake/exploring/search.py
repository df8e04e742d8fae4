"""The search: which worlds there are, in which order they are tried, and which of them are one.

Theory of operation
-------------------
A world is a set of moves. It grows from the log of the world that it deviates from by one move, so
the search needs no model of the app: what was attempted there is what can be moved.

Worlds are tried by how many moves they have, and among those by distance: the moves of one message
first, short ways first. So the first world that fails is the shortest.

Two worlds are one if the same attempts reach the app in the same order: an app that does the same
on the same can't tell them apart, so the outcomes are the same, too. For most worlds that order is
known before they are run (:func:`foreseen`): the body's attempts, moved as the order of attempts
would move them. If such a world was seen already, it is not run. Calls that are answered last,
pauses, attempts at the same time, and what an app causes by itself, are not foreseen: such worlds
are run, and compared afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from .moves import Move

#: How many worlds that were not run are counted, to say how many there are at least.
_COUNTED: Final = 2_000


class Step(NamedTuple):
    """An attempt of a world.

    Attributes:
        chance: The number of its choice: which event and endpoint, in the order of first attempts.
        item: What was attempted where, the same number in every world; below 0: refused.
        message: The number of the message that it is about; 0: of none.
        what: The event's status, or its type.
        at: The name of the endpoint, if there are several.
        overlaps: Whether it can be made at the same time as another one.
        round: The number of the round in which that was so; 0: it was not.
    """

    chance: int
    item: int
    message: int
    what: str
    at: str = ""
    overlaps: bool = False
    round: int = 0


#: The attempts of a world, in order; None: a barrier.
Steps: TypeAlias = Sequence[Step | None]
Key: TypeAlias = tuple[object, ...]


class Log(NamedTuple):
    """What happened in a world, as far as the search needs it.

    Attributes:
        steps: The attempts and the barriers.
        calls: Which calls caused webhooks that came after their answers.
        raced: Which calls were answered last.
        paused: Which choices came again after a pause, and after how long.
        moments: When each of the steps was made; of a barrier, all moments at which there was one.
        session: How long a session lasts, in nanoseconds.
    """

    steps: Steps
    calls: tuple[int, ...] = ()
    raced: tuple[int, ...] = ()
    paused: tuple[tuple[int, int], ...] = ()
    moments: Sequence[tuple[int, ...]] = ()
    session: int = 0

    @property
    def key(self) -> Key:
        """What makes it one world with another one: what reached the app, and in which order."""
        items = (0 if step is None else step.item for step in self.steps)
        rounds: dict[int, list[int]] = {}
        for step in self.steps:
            if step is not None and step.round:
                rounds.setdefault(step.round, []).append(step.item)
        together = map(tuple, rounds.values())
        return (*(one for one in items if one >= 0), "|", *self.raced, *self.paused, *together)

    def pauses(self, place: int) -> list[int]:
        """Return how long after a step a repeat of it may come, in nanoseconds.

        Whenever the body has moved time since, and when a session that began then is over.
        """
        (start,) = self.moments[place]
        later = {one - start for moments in self.moments[place:] for one in moments}
        return sorted(one for one in {*later, self.session} if one > 0)


class Candidate(NamedTuple):
    """A world that can be tried; sorted as they are tried.

    Attributes:
        apart: Whether its moves concern several messages.
        distance: Past how many attempts its moves go together.
        order: Its last move: the place of its kind, and which attempt.
        moves: The moves.
    """

    apart: bool
    distance: int
    order: tuple[int, ...]
    moves: tuple[Move, ...]


def choices(log: Log, kinds: Sequence[str], taken: Sequence[Move]) -> Iterator[tuple[int, Move]]:
    """Give the moves that a world has room for, with their distances, the shortest first.

    Args:
        log: What happened in it.
        kinds: What may be tried.
        taken: What deviates already: it has its choice.
    """
    mine = {move.start for move in taken if move.of_attempts}
    places: dict[int, int] = {}
    for place, step in enumerate(log.steps):
        if step is not None and step.chance not in mine:
            places.setdefault(step.chance, place)
    after = [0] * (len(log.steps) + 1)  # how many attempts follow, in all
    near = after.copy()  # and before the next barrier
    for place in range(len(log.steps) - 1, -1, -1):
        made = log.steps[place] is not None
        after[place] = after[place + 1] + made
        near[place] = near[place + 1] + 1 if made else 0
    room = {chance: (after[place] - 1, near[place] - 1) for chance, place in sorted(places.items())}
    farthest = max((room[chance][0] for chance in room), default=0)
    alone = {step.chance for step in log.steps if step is not None and not step.overlaps}
    pauses = {one: log.pauses(places[one]) for one in room} if "duplicate_later" in kinds else {}
    raced = {move.start for move in taken if move.kind == "webhooks_first"}
    for steps in range(farthest + 1):
        for kind in kinds:
            if kind == "webhooks_first":
                starts = [call for call in log.calls if call not in raced and not steps]
            else:
                starts = [one for one in room if _FITS[kind](steps, *room[one])]
            if kind == "concurrently":
                starts = [one for one in starts if one not in alone]
            for start in starts:
                for own in (
                    pauses[start] if kind == "duplicate_later" else (steps if kind in _FAR else 0,)
                ):
                    yield steps, Move(kind, start, own)


#: Whether an attempt has room for a move past so many others, if so many follow it in all, and so
#: many before the next barrier. What is made again comes at the next barrier.
_FITS: Final[Mapping[str, Callable[[int, int, int], bool]]] = {
    "reorder": lambda steps, _, near: 0 < steps <= near,
    "duplicate": lambda steps, after, _: steps <= after,
    "lose_response": lambda steps, _, near: steps == near,
    "refuse": lambda steps, _, near: steps == near,
    "drop": lambda steps, _after, _near: steps == 0,
    "duplicate_later": lambda steps, after, _: steps == after,
    "concurrently": lambda steps, _, near: steps <= near,
}

#: The kinds whose verbs say past how many.
_FAR: Final = frozenset({"reorder", "duplicate", "concurrently"})


def foreseen(base: Steps, moves: Sequence[Move]) -> Key:
    """Return the key of a world, from the log of the body as written.

    It does what :class:`.AttemptOrder` does.
    """
    by_chance = {move.start: move for move in moves}
    out: list[int] = []
    made = 0
    waiting: list[tuple[int, int, bool]] = []
    pending: list[int] = []

    def make(item: int) -> None:
        nonlocal made
        while True:
            out.append(item)
            made += 1
            ready = next((one for one in waiting if one[0] <= made), None)
            if ready is None:
                return
            waiting.remove(ready)
            item = ready[1]

    last = len(base) - 1
    for place, step in enumerate(base):
        if step is not None:
            move = by_chance.get(step.chance)
            kind = "" if move is None else move.kind
            steps = 0 if move is None else move.steps
            if kind == "reorder":
                waiting.append((made + steps, step.item, True))
                continue
            if kind == "duplicate":
                waiting.append((made + 1 + steps, step.item, False))
            elif kind in {"lose_response", "refuse"}:
                pending.append(step.item)
            make(-step.item if kind in {"refuse", "drop"} else step.item)
            continue
        late = [one for one in waiting if one[2] or place == last]
        waiting[:] = [one for one in waiting if one not in late]
        for _, item, _ in late:
            make(item)
        again, pending = pending, []
        for item in again:
            make(item)
        out.append(0)
    return (*(item for item in out if item >= 0), "|")


class Search:
    """Which worlds are tried.

    Args:
        kinds: What may deviate.
        depth: How many moves a world has at most.
        limit: How many worlds are tried at most.
    """

    def __init__(self, kinds: Sequence[str], depth: int, limit: int) -> None:
        self._kinds = kinds
        self._depth = depth
        self._limit = limit
        self._seen: set[Key] = set()
        self._base: Steps | None = None
        self._log: Log | None = None
        self._rest: Iterator[tuple[Move, ...]] = iter(())
        self.worlds: int = 0
        self.cut: str = ""
        self.races = True

    def worlds_to_try(self) -> Iterator[tuple[Move, ...]]:
        """Give the moves of one world after another; :meth:`tried` follows each.

        The first has none: it is the body as written.
        """
        yield ()
        assert self._log is not None
        base = self._log
        plain = [step for step in base.steps if step is not None]
        # What is attempted again in the body as written is not foreseen in others.
        if len({step.chance for step in plain}) == len(plain) and 0 not in {
            step.chance for step in plain
        }:
            self._base = base.steps
        parents: list[tuple[tuple[Move, ...], int, Log]] = [((), 0, base)]
        for level in range(1, self._depth + 1):
            grown: list[tuple[tuple[Move, ...], int, Log]] = []
            self._rest = self._candidates(parents)
            for moves in self._rest:
                if self.worlds >= self._limit:
                    self._rest = _with(moves, self._rest)
                    self.cut = f"limit={self._limit}"
                    return
                self._log = None
                yield moves
                log = self._log
                if log is not None and level < self._depth:
                    grown.append((moves, sum(map(_distance, moves)), log))
            if not grown:  # whatever the depth is
                return
            parents = grown

    def tried(self, log: Log) -> bool:
        """Take a world's log; return whether it is another world than those before."""
        new = log.key not in self._seen
        if new:
            self._seen.add(log.key)
            self._log = log
            self.worlds += 1
        return new

    def at_least(self) -> int:
        """Return how many worlds there are at least, if the search was cut."""
        known = set(self._seen)
        for moves in self._rest:
            key = self._foreseen(moves)
            known.add(moves if key is None else key)
            if len(known) - len(self._seen) >= _COUNTED:
                break
        return self.worlds + len(known) - len(self._seen)

    def _foreseen(self, moves: tuple[Move, ...]) -> Key | None:
        if self._base is None or not all(move.is_foreseen for move in moves):
            return None
        return foreseen(self._base, moves)

    def _candidates(
        self, parents: Sequence[tuple[tuple[Move, ...], int, Log]]
    ) -> Iterator[tuple[Move, ...]]:
        found: set[frozenset[Move]] = set()
        streams = (
            self._children(*parent, apart=apart) for parent in parents for apart in (False, True)
        )
        for candidate in heapq.merge(*streams):
            moves = frozenset(candidate.moves)
            if moves in found or not (self.races or all(move.of_attempts for move in moves)):
                continue
            found.add(moves)
            key = self._foreseen(candidate.moves)
            if key is None or key not in self._seen:
                yield candidate.moves

    def _children(
        self, taken: tuple[Move, ...], distance: int, log: Log, *, apart: bool
    ) -> Iterator[Candidate]:
        messages = {step.chance: step.message for step in log.steps if step is not None}
        mine = {messages.get(move.start) for move in taken if move.of_attempts}
        for steps, move in choices(log, self._kinds, taken):
            same = not taken or (move.of_attempts and mine == {messages.get(move.start)})
            if same != apart:
                order = (self._kinds.index(move.kind), *sorted(one.start for one in (*taken, move)))
                moves = (*taken, move)
                yield Candidate(apart, distance + steps, order, moves)


def _with(first: tuple[Move, ...], rest: Iterator[tuple[Move, ...]]) -> Iterator[tuple[Move, ...]]:
    yield first
    yield from rest


def _distance(move: Move) -> int:
    return 0 if move.kind == "duplicate_later" else move.steps
