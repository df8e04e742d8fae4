"""What a row is, and how two contestants are timed side by side."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Literal

#: Does its share of work and returns how many seconds that took.
Contestant = Callable[[], float]


def now() -> float:
    """Return seconds: of the wall, or of work alone where the machine is not quiet."""
    return _clock()


_clock = perf_counter


def count_cpu_time() -> None:
    """Count the time that this process works, in all of its threads, and those that it ran."""
    global _clock  # noqa: PLW0603 - once, before anything is timed
    from resource import RUSAGE_CHILDREN, getrusage  # not on every system, like pinning

    def worked() -> float:
        children = getrusage(RUSAGE_CHILDREN)
        return process_time() + children.ru_utime + children.ru_stime

    _clock = worked


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: What ``--rows`` calls it.
        title: What is compared with what.
        bound: Whether the figure should be large or small.
        target: What it should reach; None if it only stands beside that of another tree.
        sample: Takes the number of rounds, gives one figure for each.
        unit: ``x`` for a ratio.
        needs: The packages of its contestants that may not be installed.
    """

    name: str
    title: str
    bound: Literal["at least", "at most"]
    target: float | None
    sample: Callable[[int], Iterator[float]]
    unit: str = "x"
    needs: tuple[str, ...] = ()

    def reaches(self, figures: list[float]) -> bool:
        """Whether the median of the figures is on the right side of the target."""
        assert self.target is not None, "nothing to reach"
        found = median(figures)
        return found >= self.target if self.bound == "at least" else found <= self.target


def timed(
    work: Callable[[], object], count: int, before: Callable[[], object] = lambda: None
) -> Contestant:
    """Make a contestant of work that is done ``count`` times.

    ``before`` runs untimed ahead of every slice: it clears what earlier slices left in records, so
    that nobody is slow for having a longer past.
    """

    def run() -> float:
        before()
        gc.collect()
        started = now()
        for _ in range(count):
            work()
        return now() - started

    return run


def alternate(
    rounds: int, ours: Contestant, theirs: Contestant, slices: int = 6
) -> Iterator[tuple[float, float]]:
    """Time both in turn, and yield the seconds of each for every round.

    A round is cut into slices, so that a neighbour on the machine disturbs both alike; who goes
    first changes from slice to slice. A slice of each goes ahead to warm up.
    """
    ours()
    theirs()
    for _ in range(rounds):
        our_time = their_time = 0.0
        for number in range(slices):
            if number % 2:
                their_time += theirs()
                our_time += ours()
            else:
                our_time += ours()
                their_time += theirs()
        yield our_time, their_time


def rates(rounds: int, ours: Contestant, theirs: Contestant, slices: int = 6) -> Iterator[float]:
    """Yield, for every round, our rate over theirs; both do the same amount of work."""
    for our_time, their_time in alternate(rounds, ours, theirs, slices):
        yield their_time / our_time


def times(rounds: int, ours: Contestant, theirs: Contestant, slices: int = 6) -> Iterator[float]:
    """Yield, for every round, our time over theirs; both do the same amount of work."""
    for our_time, their_time in alternate(rounds, ours, theirs, slices):
        yield our_time / their_time


def costs(rounds: int, ours: Contestant, count: int) -> Iterator[float]:
    """Yield, for every round, how many microseconds each of the ``count`` things in it took."""
    ours()
    for _ in range(rounds):
        yield ours() / count * 1e6
