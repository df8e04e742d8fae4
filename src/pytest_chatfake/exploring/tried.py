"""What an exploration has tried, what it has left out, and why."""

from __future__ import annotations

from typing import Final

from ..base.errors import ChatFakeError
from ..base.views import counted, listed
from .deviations import EARLY, KINDS
from .environment import Environment
from .search import Search
from .trials import Trials

_BY_HAND: Final = (
    "write a test that moves the clock, deletes what has expired by then, and calls "
    "assert_idempotent()"
)


class Tried:
    """What an exploration has tried.

    Attributes:
        worlds: The number of different worlds, including the body as written; 0 until the end.
        is_complete: Whether every world up to ``depth`` was tried.
        kinds: The kinds of deviations of worlds that passed.
        no_verdict: Why the only world that was tried proves nothing; empty: it does, or there were
            others.
        cannot_crash: Which attempts can't crash; empty: all can.
        missed_points: Why crash points were not reached, although the class may be right.
        is_reordered: Whether threads acted in another order in a second run.
        has_another_order: Whether events reached an app in another order.
    """

    def __init__(self, search: Search, trials: Trials, environment: Environment) -> None:
        self.worlds: int = 0
        self.is_complete: bool = False
        self.kinds: set[str] = set()
        self.no_verdict: str = ""
        self.cannot_crash: str = ""
        self.missed_points: str = ""
        self.is_reordered: bool = False
        self.has_another_order: bool = False
        self._scope = environment.scope
        self._search = search
        self._trials = trials
        self._environment = environment

    def leave_out(self, kind: str, problem: str, remedy: str) -> None:
        """Leave out a kind that can't be tried.

        Raises:
            ChatFakeError: It was requested by name.
        """
        if kind not in self._scope.kinds:
            return
        if not self._scope.all_kinds:
            raise ChatFakeError(f"{kind}: {problem}. {remedy}, or leave it out.")
        self._search.left_out[kind] = f"{problem}. {remedy}"

    def end(self) -> str:
        """Count what was tried in all worlds; return the summary."""
        search, unfired = self._search, self._trials.unfired
        if "crash" in self.kinds and (why := unfired.get("crash")):
            self.cannot_crash = "; ".join(filter(None, [why, self.cannot_crash]))
        for kind in search.without_options():
            if kind != "crash":  # see cannot_crash
                search.left_out.setdefault(kind, search.needs(kind))
        search.left_out |= {kind: why for kind, why in unfired.items() if kind not in self.kinds}
        if why := self._trials.memories.why_not_aged:
            moving = {kind for kind in self.kinds if KINDS[kind].moves_time}
            search.left_out |= dict.fromkeys(moving, why + _BY_HAND)
            self.kinds -= moving
        self.worlds = search.worlds
        limits = search.cut, search.left_out, self.cannot_crash, self.missed_points
        self.is_complete = not any(limits)
        return self._summary()

    def end_with_one(self) -> str:
        """Count the only world that was tried; return the summary."""
        self.worlds = 1
        only = self._scope.only or ()
        self._search.left_out |= self._trials.unfired
        self.no_verdict = "; ".join(dict.fromkeys(self._search.left_out.values()))
        why = self.no_verdict
        if (aged := self._trials.memories.why_not_aged) and any(
            each.traits.moves_time for each in only
        ):
            why = aged + _BY_HAND
        notes = filter(None, [self._trials.sometimes, why and f"it proves nothing, as {why}"])
        return "; ".join([f"1 world, only {[*map(str, only)]}", *notes])

    def _summary(self) -> str:
        search, depth = self._search, self._scope.depth
        worlds = counted(self.worlds, "world")
        if not self.is_complete:
            text = worlds + f", cut by {search.cut}" * bool(search.cut)
        elif not depth:
            text = f"{worlds}: the body as written"
        else:
            text = f"{worlds}, all with up to {counted(depth, 'deviation')}"
        notes = [
            *(f"{kind} was not tried: {why}" for kind, why in search.left_out.items()),
            "threads acted in a different order when one world was run again" * self.is_reordered,
            self._trials.sometimes,
            self.missed_points,
            self.cannot_crash and f"crash: {self.cannot_crash}",
        ]
        return "; ".join([text, *filter(None, notes)])

    # For the cards of ready-made tests

    @property
    def deviating(self) -> int:
        """The number of worlds with a verdict, besides the body as written."""
        return self.worlds - (self._scope.only is None or bool(self.no_verdict))

    @property
    def why_nothing(self) -> str:
        """Why there was nothing to try; empty if a world with snapshots to compare was tried."""
        reasons = [self.missed_points, *self._search.left_out.values(), self.cannot_crash]
        compares = any(KINDS[kind].compares for kind in self.kinds)
        return "" if compares and self.worlds > 1 else next(filter(None, reasons), "")

    @property
    def untried(self) -> list[str]:
        """What was left out, although something was tried."""
        why = "only" if self._scope.only is not None else self._search.cut
        untried = [f"other worlds were left out by {why}"] * bool(why)
        untried += [
            f"{kind} was not tried: {why}"
            for kind, why in self._search.left_out.items()
            if kind not in EARLY or why != KINDS[kind].needs  # most scenarios only have one of them
        ]
        if steps := [*map(str, sorted(self._trials.uncompared))]:
            is_none = len(steps) == self._trials.baseline.last_step - 1
            some = f"the state after step {listed(steps)} was not compared"
            untried.append("only the final state was compared" if is_none else some)
        return [*untried, *filter(None, [self.cannot_crash, self.missed_points])]

    @property
    def meetings(self) -> str:
        """Where two attempts at the same time were held for each other; empty: nowhere."""
        if met := self.held_at("met"):
            return f"both attempts met {met}"
        if held := self.held_at("left", "limit"):
            return f"one attempt was held {held}, while the other waited or ended"
        if held := self.held_at("slow", "late"):
            why = "your app takes longer than a fifth of timeout="
            return f"no attempt was held {held} for long enough, because {why}"
        on_a_loop = self.held_at("on a loop")
        return f"nothing was held {on_a_loop}, on the event loop" * bool(on_a_loop)

    def held_at(self, *wanted: str) -> str:
        """Return where attempts were held, and it ended in one of these ways; empty: nowhere."""
        ends = self._environment.ends
        points = (point for point in ends if not ends[point].isdisjoint(wanted))
        words = dict.fromkeys(str(point._replace(nth=1)) for point in points)
        return listed(words) if words else ""
