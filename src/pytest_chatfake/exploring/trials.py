"""Trials: does a world fail because of its deviations?

Chance, the passing of time and changes of the app itself can make a world fail as well. So a world
that fails is run again, next to a run without its deviations.
"""

from __future__ import annotations

from typing import Final

from .baseline import Baseline
from .description import describe
from .deviations import KINDS, Deviation
from .environment import Environment
from .late_threads import Work
from .memories import MemoryWatch
from .world import Body, Purpose, World

#: How often a world is run if threads act in it.
RUNS: Final = 3

#: Why worlds with these kinds say nothing about the app if a world fails that waits as long.
_WAITING: Final = {
    name: "the body fails if time moves that far, even if nothing is redelivered"
    if kind.moves_time
    else "the body fails if the event is late, even if it arrives during no call"
    for name, kind in KINDS.items()
    if kind.moves_time or kind.is_late
}


class Trials:
    """Runs a body in worlds, and finds out whether their deviations make them fail.

    Args:
        body: The body.
        environment: The start of every world.

    Attributes:
        baseline: The snapshots of the body as written.
        memories: The memories that the app used in it.
        accepted_errors: The exceptions that the app logged, as in :class:`.WorldObserver`.
        uncompared: The steps after which no snapshot could be compared.
        sometimes: Which deviations failed in one run and passed in another; empty: none did.
        unfired: Why a kind's deviations had no effect, or prove nothing.
        disordered: The numbers of events that the app can't handle after the ones that follow them.
        late_threads: The app's threads and jobs that may have written to a snapshot too late.
    """

    def __init__(self, body: Body, environment: Environment) -> None:
        self._body = body
        self._environment = environment
        self.baseline: Baseline = Baseline()
        self.memories: MemoryWatch = MemoryWatch()
        self.accepted_errors: dict[str, str] = {}
        self.uncompared: set[int] = set()
        self.sometimes: str = ""
        self.unfired: dict[str, str] = {}
        self.disordered: set[int] = set()
        self.late_threads: list[Work] = []

    async def run(
        self,
        deviations: tuple[Deviation, ...],
        baseline: Baseline,
        purpose: Purpose = "verdict",
    ) -> World:
        """Run the body in a world."""
        world = World(self._environment, baseline, deviations, purpose)
        await world.run(self._body)
        self.memories = world.memories or self.memories
        self.late_threads += [*world.seen.earlier_threads, *world.seen.late_threads]
        self.accepted_errors = {**world.seen.accepted_errors(), **self.accepted_errors}
        return world

    async def run_again(self, world: World) -> World:
        return await self.run(world.deviations, world.baseline)

    async def run_control(
        self, baseline: Baseline, deviations: tuple[Deviation, ...] = ()
    ) -> World:
        """Run the body as written or, if a baseline ``only_waits``, move time as deviations do."""
        if baseline.only_waits:
            return await self.run(deviations, baseline, "only waits")
        return await self.run((), baseline)

    async def prove(self, world: World) -> World | None:
        """Return a world, or a run that shows its effect more clearly.

        Returns:
            None, if there is no verdict.
        """
        shown = "" if world.error is None else world.comparison.shown(world.error)
        last = await self._confirm(world)
        if world.error is not None and last.error is None:
            log = world.log()
            sentences = "; ".join(describe(each, log) for each in world.deviations)
            self.sometimes = f"failed in one run and passed in another: {sentences}; {shown}"
        last = await self._find_step(last)
        kinds = [each.kind for each in last.deviations]
        waiting = {kind: _WAITING[kind] for kind in kinds if kind in _WAITING}
        if last.error is None or not waiting:
            return last
        proven = await self._run_with_control(last, Baseline(only_waits=True))
        if proven is None:
            self.unfired |= waiting
        return proven

    async def _confirm(self, world: World) -> World:
        # If threads act, a failure only counts if every run fails.
        if world.error is None or not world.deviations or not world.may_vary:
            return world
        for _ in range(RUNS - 1):
            world = await self.run_again(world)
            if world.error is None:
                break
        return world

    async def _find_step(self, world: World) -> World:
        # An app may correct a mistake by the end: does the world fail if the scenario stops
        # earlier?
        if world.error is None:
            for step in world.comparison.suspects:
                if (short := await self._stop_after(world, step)) is not None:
                    return short
        return world

    async def _stop_after(self, world: World, step: int) -> World | None:
        # A world that ends after the step, if its snapshot differs: each time in the same way, if
        # the app may have been busy in the background. Other errors may come from stopping early.
        ends: list[object] = []
        while True:
            baseline = Baseline(until=step)
            short = await self._run_with_control(world, baseline)
            error = None if short is None else short.error
            differs = bool(short and error and short.comparison.differs_by(error))
            if short is not None and not differs and not ends:
                return None
            ends.append((baseline.values, str(error)))
            if short is None or not differs or baseline.is_restless or ends[0] != ends[-1]:
                self.uncompared.add(step)
                return None
            if len(ends) == RUNS or not (short.comparison.had_background or world.may_vary):
                return short

    async def _run_with_control(self, world: World, baseline: Baseline) -> World | None:
        # None: the control fails as well, so the deviations aren't to blame.
        if (await self.run_control(baseline, world.deviations)).error is not None:
            return None
        return await self._confirm(await self.run(world.deviations, baseline))

    async def run_in_turn(self, world: World) -> World | None:
        """Run a world in which two events come at the same time with one after the other.

        Returns:
            A run that fails, so that another order is to blame; None: the app handles every order.
        """
        for each in world.deviations:
            orders = (each.extent - 1, each.extent) if each.kind == "two_events_at_once" else ()
            for by in filter(None, orders):
                moved = Deviation("reorder", each.start, by)
                in_turn = await self._confirm(await self.run((moved,), world.baseline))
                if in_turn.error is not None:
                    self.disordered.add(each.start)
                    return in_turn
        return None

    async def learn_steps(self, first: World) -> None:
        """Learn the snapshots between the steps, if taking them changes nothing."""
        baseline = self.baseline
        if baseline.last_step < 2:
            return
        for _ in range(RUNS if first.may_vary else 1):
            again = await self.run((), baseline, "steps")
            if again.error is None and again.log().key == first.log().key:
                break
            baseline.steps.clear()
        self.uncompared = {*range(1, baseline.last_step)} - {*baseline.steps}
