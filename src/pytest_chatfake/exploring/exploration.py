"""An exploration: a body is run in one world after another, until one fails or all have passed."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, NoReturn

from ..base.coroutines import run_at_once
from ..base.current_test import Finding, current
from ..base.errors import ChatFakeError, NotAwaited, NotRepeatable, UndeliveredWebhooks
from ..base.redaction import redacted
from ..base.views import counted, listed, ordinal
from ..report.timeline_text import timeline_text
from .baseline import Baseline
from .description import describe
from .deviations import CRASHING, DEFAULT, KINDS, Deviation
from .printed_test import NoTestError, Written, body_as_written, print_test
from .search import Search
from .timeline_diff import timeline_diff
from .world import Body, Environment, Step, World, is_skip

#: For how many real seconds nothing is said of the progress, and how often after that.
_QUIET: Final = 2.0
_EVERY: Final = 0.2

#: In how many worlds further kinds are tried, even if that takes longer than the finding took: so
#: which of them a small body names is no matter of milliseconds.
_FURTHER: Final = 75

#: How often a world is run in which threads act: its failure counts if it fails each time.
_RUNS: Final = 3

_REMEDY: Final = (
    "Create the app inside the body. What the body does must not depend on chance, real time, or "
    "on what an earlier run has left behind."
)

_ONLY_TIME: Final = "the body fails where time moves as far and nothing comes again"

_BY_ITSELF: Final = "the scenario as written shows another snapshot when it is run again"

#: Takes the text of a progress line; an empty one at the end.
Progress = Callable[[str], None]


class Row(NamedTuple):
    """A ready-made test, whose body is not the user's own.

    Attributes:
        name: Its name.
        as_written: Takes what a world was compared with; returns what the test does.
    """

    name: str
    as_written: Callable[[Baseline], Written]


class Scope(NamedTuple):
    """The options of an exploration, checked; :meth:`.Explorer.__call__` explains them."""

    kinds: tuple[str, ...] = DEFAULT
    limit: int = 500
    depth: int = 2
    seconds: float | None = None
    only: tuple[Deviation, ...] | None = None
    crash_points: Mapping[FunctionType, str] | None = None  # None: no crash or error is tried
    errors: Mapping[str, str] = {}  # that they raise, by their names
    all_kinds: bool = False  # and not each by its name
    stop_at_first: bool = False
    runs_again: bool = False  # the body as written, where that is all


class Exploration:
    """An exploration and its result.

    In an async test, ``await`` it: it does nothing before.
    """

    def __init__(
        self,
        body: Body,
        scope: Scope,
        environment: Environment,
        progress: Progress,
        item: Any,
        *,
        row: Row | None = None,
    ) -> None:
        self._body = body
        self._row = row
        self._scope = scope
        self._environment = environment
        self._baseline = Baseline()
        self._progress = progress
        self._item = item
        code = getattr(inspect.unwrap(body), "__code__", None)
        self._code: CodeType | None = code if row is None else None
        self._search = Search(scope.kinds, scope.depth, scope.limit)
        self._is_async = inspect.iscoroutinefunction(body)
        self._is_pending = self._is_async
        self._unawaited: Coroutine[Any, Any, None] | None = None
        self._worlds = 0
        self._complete = False
        self._cannot_crash = ""
        self._is_reordered = False  # by threads, when the body as written was run again
        self._sometimes = ""  # how a world has failed that passed when it was run again
        self._kinds_tried = set[str]()
        self._unfired: dict[str, str] = {}  # why nothing came of a kind's deviations
        self._failing: tuple[Deviation, ...] | None = None
        self._found = Finding(f"Exploration of {name_of(body)}()", "not run yet")
        current().findings.append(self._found)
        self._first: Exploration | None = None

    def __repr__(self) -> str:
        return f"<Exploration: {self._found.result}>"

    def __str__(self) -> str:
        return self._found.result

    @property
    def worlds(self) -> int:
        """How many different worlds were tried, the body as written among them.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._require_awaited()
        return self._worlds

    @property
    def complete(self) -> bool:
        """Whether these were all, up to the depth.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._require_awaited()
        return self._complete

    @property
    def _failed_as_written(self) -> bool:
        """Whether no world failed, or the body as written did."""
        return self._failing is None

    @property
    def _why_nothing(self) -> str:
        """Why there was nothing to try of its kinds; empty if there was."""
        reasons = [*self._search.left_out.values(), self._cannot_crash]
        compares = any(KINDS[kind].compares for kind in self._kinds_tried)
        return "" if compares and self._worlds > 1 else reasons[0]

    def _require_awaited(self) -> None:
        if self._is_pending:
            name = name_of(self._body)
            raise NotAwaited(
                f"the exploration of {name}() was never awaited: write `await "
                f"chat_explore({name})` in an `async def` test, or `await {name}` below "
                f"`@chat_explore`"
            )

    def _warn_if_never_awaited(self) -> None:
        """Let Python itself warn, where no fixture does: a finaliser would lose interrupts."""

        async def unawaited() -> None:
            pass

        if self._is_async:
            unawaited.__qualname__ = f"the exploration of {name_of(self._body)}()"
            self._unawaited = unawaited()

    def __await__(self) -> Generator[Any, Any, Exploration]:
        if not self._is_async:
            name = name_of(self._body)
            raise TypeError(
                f"there is nothing to await: {name}() is a plain function, explored when "
                f"chat_explore was called. Remove `await`, or write `async def {name}`"
            )
        if self._unawaited is not None:
            self._unawaited.close()
        yield from self._explore().__await__()
        return self

    def _repeat(self, first: Exploration) -> None:
        """Rerun one world only, and report the figures of an earlier run's exploration."""
        self._first = first
        self._scope = first._scope._replace(depth=0, only=first._failing or first._scope.only)
        self._search = Search(kinds=self._scope.kinds, depth=0, limit=1)

    def _run(self) -> Exploration:
        """Explore a plain body."""
        run_at_once(self._explore())
        return self

    async def _explore(self) -> None:
        self._is_pending = False
        try:
            await self._try_frozen()
        finally:
            self._progress("")  # wipes the line
            if (first := self._first) is not None:
                self._worlds, self._complete = first._worlds, first._complete
                self._found.result = first._found.result

    async def _try_frozen(self) -> None:
        """Run the worlds with time frozen; whatever happens, the process is restored first."""
        try:
            self._environment.freeze()
            with current().following(self._code):
                if self._scope.only is not None:
                    await self._try_only(self._scope.only)
                else:
                    await self._try_all()
        finally:
            self._environment.restore()

    async def _try_all(self) -> None:
        scope, search = self._scope, self._search
        began = time.monotonic()
        end = began + (math.inf if scope.seconds is None else scope.seconds)
        next_line = began + _QUIET
        candidates = search.worlds_to_try()
        tried = self._kinds_tried
        for deviations in candidates:
            now = time.monotonic()
            if deviations and now >= end:
                search.cut = f"seconds={scope.seconds:g}"
                break
            if deviations and now >= next_line:
                next_line = now + _EVERY
                self._progress(self._progress_line(now - began))
            world = await self._tried(deviations)
            if world is None:
                continue
            if world.error is not None:
                self._found.result = f"failed in world {search.worlds + 1}"
                if not deviations:
                    self._show_timeline(world, world.error)
                    raise world.error
                until = min(end, 2 * time.monotonic() - began)
                await self._explain(world, f"passes as written; fails in world {search.worlds + 1}")
                if not scope.stop_at_first:
                    await self._try_others(candidates, until, end)
                raise world.error
            if scope.depth and (call := world.call_in_process):
                problem = f"expected calls over a socket, got {call} through chat_fake.wsgi_app"
                self._refuse("api.lose_response", problem, "Call chat_fake.base_url")
            search.add(world.log())
            tried.update(deviation.kind for deviation in deviations)
            if not deviations and scope.depth:  # else there is nothing to compare with
                self._require_options(world)
                await self._require_repeatable(world)
                await self._learn_steps(world)
            elif scope.runs_again:
                await self._require_control(world)
        search.left_out |= {kind: why for kind, why in self._unfired.items() if kind not in tried}
        for kind in search.without_options():
            if kind != "crash":  # see why_safe()
                search.left_out.setdefault(kind, KINDS[kind].needs)
        self._worlds = search.worlds
        self._complete = not (search.cut or search.left_out or self._cannot_crash)
        self._found.result = self._summary()

    async def _ran(
        self,
        deviations: tuple[Deviation, ...],
        baseline: Baseline,
        *,
        other_ids: bool = False,
        only_waits: bool = False,
        by_hand: bool = False,
    ) -> World:
        world = World(
            self._environment,
            baseline,
            deviations,
            other_ids=other_ids,
            only_waits=only_waits,
            by_hand=by_hand,
        )
        await world.run(self._body)
        return world

    async def _ran_again(self, world: World) -> World:
        return await self._ran(world.deviations, world.baseline)

    async def _control(self, baseline: Baseline, deviations: tuple[Deviation, ...] = ()) -> World:
        """Run what is compared with: the body as written, or where time moves as far and no more.

        The first such run is kept; a later one is compared with it.
        """
        only_waits = baseline.only_waits
        return await self._ran(deviations if only_waits else (), baseline, only_waits=only_waits)

    async def _tried(self, deviations: tuple[Deviation, ...]) -> World | None:
        """Run a world; again, if its call came while a thread was in the middle of an attempt.

        Returns:
            The run by which the world is judged; None: nothing deviated, or it can't be told.
        """
        world = await self._ran(deviations, self._baseline)
        for _ in range(_RUNS - 1):
            if not world.why_not_first or world.inside.is_blocked:
                break
            world = await self._ran_again(world)
        if world.server_is_single_threaded:  # so each further one would wait for a timeout
            self._search.left_out["webhooks_first"] = (
                "a webhook timed out before the response of its call, so your server seems to "
                "handle one call at a time: serve it in threads"
            )
            return None
        if unfired := world.unfired:
            self._unfired |= unfired
            return None
        return await self._judged(world)

    async def _judged(self, world: World) -> World | None:
        """Return a world, or a run that says better what it has changed; None: it can't be told."""
        last = await self._confirmed(world)
        if world.error is not None and last.error is None:
            log = world.log()
            sentences = "; ".join(describe(each, log) for each in world.deviations)
            self._sometimes = f"failed in one run and passed in another: {sentences}"
        last = await self._at_its_step(last)
        kinds = {deviation.kind for deviation in last.deviations}
        if last.error is None or "duplicate_later" not in kinds:
            return last
        judged = await self._compared(last, Baseline(only_waits=True))
        if judged is None:
            self._unfired["duplicate_later"] = _ONLY_TIME
        return judged

    async def _confirmed(self, world: World) -> World:
        """Return a world that has failed, or its last run if threads acted: each has to fail."""
        if world.error is None or not world.deviations or not world.may_vary:
            return world
        for _ in range(_RUNS - 1):
            world = await self._ran_again(world)
            if world.error is None:
                break
        return world

    async def _at_its_step(self, world: World) -> World:
        """Return a world; one whose scenario ends where the snapshot differed, if that fails."""
        if world.error is None and not world.has_threads:
            for step in self._baseline.differs_after:
                short = await self._compared(world, Baseline(until=step))
                if short is not None and short.error is not None:
                    return short
        return world

    async def _compared(self, world: World, baseline: Baseline) -> World | None:
        """Run a world beside another control than the body as written; None: that fails itself."""
        if (await self._control(baseline, world.deviations)).error is not None:
            return None
        return await self._confirmed(await self._ran(world.deviations, baseline))

    async def _learn_steps(self, first: World) -> None:
        """Keep the snapshot after each step, from a run in which taking them changes nothing."""
        baseline = self._baseline
        if baseline.last_step < 2 or first.has_threads:
            return
        baseline.learns_steps = True
        again = await self._control(baseline)
        baseline.learns_steps = False
        if again.error is not None or again.log().key != first.log().key:
            baseline.steps.clear()

    async def _try_others(
        self, candidates: Iterator[tuple[Deviation, ...]], until: float, end: float
    ) -> None:
        """Name the further kinds that fail on their own.

        Args:
            candidates: The worlds that are left.
            until: When no more of them are begun, if enough were tried.
            end: When no more of them are begun in any case.
        """
        failing = {deviation.what for deviation in self._failing or ()}
        lines: list[str] = []
        tried = 0
        for deviations in candidates:
            if len(deviations) != 1:
                break
            kind, what = deviations[0].kind, deviations[0].what
            if what in failing:
                continue
            if time.monotonic() >= (end if tried < _FURTHER else until):
                break
            tried += 1
            try:
                world = await self._tried(deviations)
            except BaseException as error:
                if is_skip(error):
                    continue
                raise
            if world is None:
                continue
            log = world.log()
            if world.error is None:
                self._search.add(log)
                continue
            failing.add(what)
            number = self._search.worlds + len(lines) + 2  # these failed, and the first finding
            lines.append(f"also: {kind} (world {number}): {describe(deviations[0], log)}")
        if lines:
            self._found.note("\n".join(lines))
            self._found.text += redacted("\n" + "\n".join(lines))

    def _require_options(self, written: World) -> None:
        """Refuse a body in which nothing can deviate, or in which its app can't crash."""
        written.require_chances(self._scope.kinds)
        if not written.has_app_in_process:
            problem = "expected an app in process, got none"
            for kind in sorted(CRASHING):
                self._refuse(kind, problem, "Connect it as wsgi= or asgi=")
        elif self._scope.crash_points is not None:
            why = written.why_safe()  # which refuses points that the app never comes to
            self._cannot_crash = why if "crash" in self._scope.kinds else ""

    def _refuse(self, kind: str, problem: str, remedy: str) -> None:
        """Refuse a kind that can't be tried with this body; if all were asked for, leave it out."""
        if kind not in self._scope.kinds:
            return
        if not self._scope.all_kinds:
            raise ChatFakeError(f"{kind}: {problem}. {remedy}, or leave it out.")
        self._search.left_out[kind] = f"{problem}. {remedy}"

    def _progress_line(self, seconds: float) -> str:
        """Return how far the exploration is, and which part of its worlds is the slowest."""
        worlds = counted(self._search.worlds, "world")
        spent = self._environment.spent
        slowest, most = spent.most_common(1)[0]
        share = most / spent.total()
        return f"chat_explore: {worlds}, {seconds:.0f} s, {share:.0%} of it {slowest}"

    async def _try_only(self, deviations: tuple[Deviation, ...]) -> None:
        written = await self._control(self._baseline)
        if written.error is not None:
            raise written.error
        written.require_chances([deviation.kind for deviation in deviations])
        await self._learn_steps(written)
        world = await self._ran(deviations, self._baseline)
        world = await self._judged(world) or world
        only = list(map(str, deviations))
        if world.error is not None:
            self._found.result = f"failed in the world {only}"
            await self._explain(world, "fails in this world")
            raise world.error
        world.require_all_fired()
        self._worlds = 1
        self._found.result = f"1 world, only {only}" + f"; {self._sometimes}" * bool(
            self._sometimes
        )

    async def _require_repeatable(self, first: World) -> None:
        """Run the body as written again with other ids, and refuse one that differs.

        Where threads act, it is enough that one run of several does the same in some order.
        """
        for left in reversed(range(_RUNS)):
            second = await self._ran((), Baseline(), other_ids=True)
            error = second.error
            if isinstance(error, ChatFakeError) and not isinstance(error, UndeliveredWebhooks):
                raise error  # a refusal, which says itself what to do
            may_vary = first.may_vary or second.may_vary
            is_alike = error is None and first.gist == second.gist
            is_same = is_alike and first.outline() == second.outline()
            self._is_reordered |= not is_same
            if is_alike and (is_same or may_vary):
                return
            if not (left and may_vary):
                _refuse_difference(first, second)

    async def _require_control(self, world: World) -> None:
        """Run again with what a world is compared, with the same ids; refuse what now fails."""
        baseline = world.baseline
        again = await self._control(baseline, world.deviations)
        if (error := again.error) is None:
            return
        self._found.result = "failed as written, when it was run again"
        if baseline.differs_by(error):
            baseline.blame(error, _BY_ITSELF)
            error = NotRepeatable(f"{error}\n{_REMEDY}")
        self._show_timeline(again, error)
        raise error

    async def _explain(self, world: World, head: str) -> None:
        """Add to the error of a world what deviated, what happened, and a test that was run."""
        error, log, found, baseline = world.error, world.log(), self._found, world.baseline
        assert error is not None
        if baseline.differs_by(error):  # by itself, with no deviation?
            for _ in range(_RUNS if world.may_vary else 1):
                await self._require_control(world)
        self._failing = world.deviations
        sentences = ["nothing had deviated yet"]
        if world.has_deviated:
            sentences = [describe(deviation, log) for deviation in world.deviations]
        found.sentence = "; ".join(sentences)
        baseline.blame(error, found.sentence)
        separator = "\n  " if len(sentences) > 1 else " "
        note = separator.join([f"chat_explore: {head}:", *sentences])
        if world.failed_before_barrier:
            note += "\nHint: call settle() before asserting."
        if world.keeps_memory:
            note += (
                "\nHint: the app was not made anew after the crash, so what it keeps in memory "
                "stayed, as in no process. To make it anew: "
                "connect(..., restart=lambda: create_app())."
            )
        found.error = error
        found.note(note)
        self._show_timeline(world, error)
        more = list[str]()
        if world.has_threads:
            more.append(
                f"Attempts ran in threads: this world failed {_RUNS} times in a row, and may pass "
                f"by chance in another run."
            )
        try:
            test = await self._printed_test(world)
        except NoTestError as reason:
            more.append(f"There is no test to paste: {reason}.")
        else:
            found.test = redacted(test)
            found.note(f"As a test of its own (it was run, and fails the same way):\n\n{test}\n")
        only = f"{[*map(str, world.deviations)]}"
        if self._row is None:
            more.append(f"This world alone: chat_explore(only={only})")
        else:
            more.append(f"This world alone: only = {{{self._row.name!r}: {only}}}")
        found.note("\n".join(more))
        found.text = redacted("\n".join([note, *more]))

    async def _printed_test(self, world: World) -> str:
        """Return a world that fails as a test, once what that does has failed in the same way."""
        baseline, row = world.baseline, self._row
        if row is None:
            body = body_as_written(self._body, world.deviations, settles=world.body_ended)
        else:
            body = row.as_written(baseline)
        seed = world.seed_of_ids_in(repr(baseline.values))
        test = print_test(body, world.deviations, seed=seed, item=self._item)
        alone = await self._ran(world.deviations, baseline, by_hand=True)
        if type(alone.error) is not type(world.error) or alone.outline() != world.outline():
            raise NoTestError("on its own, with these lines, the body does not fail the same way")
        return test

    def _show_timeline(self, world: World, error: BaseException) -> None:
        self._found.error = error
        self._found.stories.append(world.inside.story)
        self._found.note(f"What happened in it:\n{timeline_text(world.inside.story)}")

    def _summary(self) -> str:
        search, depth = self._search, self._scope.depth
        worlds = counted(search.worlds, "world")
        if not self._complete:
            text = worlds + f", cut by {search.cut}" * bool(search.cut)
        elif not depth:
            text = f"{worlds}: the body as written"
        else:
            text = f"{worlds}, all with up to {counted(depth, 'deviation')}"
        for kind, why in search.left_out.items():
            text += f"; {kind} was not tried: {why}"
        if self._is_reordered:
            text += "; threads acted in another order in 1 world, when it was run again"
        text += f"; {self._sometimes}" * bool(self._sometimes)
        return text + (f"; crash: {self._cannot_crash}" if self._cannot_crash else "")


def _refuse_difference(first: World, second: World) -> NoReturn:
    """Say how two runs of the body as written differ."""
    error = second.error
    pairs = enumerate(zip_longest(first.outline(), second.outline(), fillvalue="nothing"), 1)
    differences = (
        f"the body is not repeatable: step {number} was {before}, but with other ids it was "
        f"{after}."
        for number, (before, after) in pairs
        if before != after
    )
    if error is not None:
        name = type(error).__name__
        problem = (
            f"the body is not repeatable: it passed once and then failed with other ids, with "
            f"{name}: {error}"
        )
    elif difference := next(differences, ""):
        problem = difference
    else:
        problem = (
            "the body is not repeatable: with other ids the snapshot of "
            "assert_order_independent() differs in more than texts. Does it show real time, or "
            "what an earlier world has done?"
        )
    lines = [problem]
    if calls := _calls_of_threads(first.steps, second.steps):
        lines.append(f"Threads of the app act when they come to it: {calls}.")
    sides = timeline_diff(first.inside.story, second.inside.story)
    raise NotRepeatable("\n".join([*lines, *sides, _REMEDY])) from error


def _calls_of_threads(first: Sequence[Step], second: Sequence[Step]) -> str:
    """Say which call of a thread came at another place, or list all if that can't be told."""
    pairs = enumerate(zip_longest(first, second))
    parted = next((n for n, (step, other) in pairs if step != other), len(first))
    for step in (*first[parted : parted + 1], *second[parted : parted + 1]):
        if step.is_by_thread:
            before, after = (
                f"the {ordinal(steps.index(step, parted) + 1)} verb or attempt"
                if step in steps[parted:]
                else "not made"
                for steps in (first, second)
            )
            return f"{step.text} was {before}, but with other ids {after}"
    calls = dict.fromkeys(step.text for step in first if step.is_by_thread)
    return listed(calls) if calls else ""


def name_of(body: Body) -> str:
    """Return the name of a body in texts."""
    return getattr(body, "__name__", type(body).__name__)
