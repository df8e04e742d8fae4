"""An exploration: one test body, run in one *world* after another until one fails.

A world is a run of the body with its own app, fake and clock, in which something deviates: a
webhook is redelivered, a response is lost.

1. The body runs as written, in a world without deviations. It has to pass. Its snapshots become the
   *baseline*, and its log shows what could deviate.
2. It runs again with other ids. A body that does something else is refused as not repeatable.
3. The search yields one world after another, beginning with few deviations. A world fails if the
   body raises an error, or if a snapshot differs from the baseline.
4. :mod:`.trials` find out why a world fails. Before a snapshot counts as different, the *control*
   is run: the same body without the deviation. If the control differs as well, the app changes by
   itself, and the deviation is not to blame. If threads act, a world has to fail each time it is
   run. If the control fails after any other error, or if the world itself passes after the control,
   then an earlier world has left something behind.
5. The failure is explained with sentences about the deviations, a timeline, and a test to paste,
   which was run and fails in the same way.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import ExitStack
from time import monotonic
from types import CodeType
from typing import Any, Final

from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import ChatFakeError, NotAwaited, NotRepeatable, UndeliveredWebhooks
from ..base.findings import Finding
from ..base.tracebacks import text_of
from ..base.views import counted
from ..fake.snapshots import SnapshotError
from .arrivals import is_another_order
from .baseline import Baseline
from .crash_coverage import why_missed, why_safe
from .description import describe
from .deviations import CRASHING, EARLY, OVER_A_SOCKET, Deviation
from .environment import Environment
from .failure_report import FailureReport, ReadyMadeTest
from .late_threads import about_late, note_work
from .outlines import gist, outline, refuse_difference
from .printed_errors import note_printed_errors
from .search import RACES, Search, WorldLog
from .trials import RUNS, Trials
from .tried import Tried
from .world import Body, World, is_skip

#: Real seconds before the first progress line, and between two of them.
_QUIET: Final = 2.0
_EVERY: Final = 0.2

#: After a finding, this many worlds are tried for further kinds that fail, however long that takes,
#: because the report on a small body must not depend on milliseconds.
_FURTHER: Final = 75

_REMEDY: Final = (
    "Create the app inside the body, and let nothing in it depend on chance, real time, or an "
    "earlier run"
)

_BY_ITSELF: Final = "the scenario as written gives a different snapshot when it is run again"

_LEFT_BEHIND: Final = (
    "An earlier world has probably left something behind. All worlds share what a module or a "
    "fixture holds, such as a queue: empty it at the start of each world"
)

#: Takes a progress line; an empty one at the end.
Progress = Callable[[str], None]


class Exploration:
    """An exploration and its result, as returned when you call ``chat_explore``.

    In an async test, nothing happens until you ``await`` the exploration.

    ``str(exploration)`` says how it ended, and is the text that pytest shows in the section
    ``chat_explore``.
    """

    def __init__(
        self,
        body: Body,
        environment: Environment,
        progress: Progress,
        item: Any,
        *,
        ready_made: ReadyMadeTest | None,
        first: Exploration | None,
    ) -> None:
        self._body = body
        self._ready_made = ready_made
        self._scope = environment.scope
        self._environment = environment
        self._trials = Trials(body, environment)
        self._search = Search(environment.scope)
        self._tried = Tried(self._search, self._trials, environment)
        self._progress = progress
        self._item = item
        code = getattr(inspect.unwrap(body), "__code__", None)
        self._code: CodeType | None = code if ready_made is None else None
        self._is_async = inspect.iscoroutinefunction(body)
        self._is_pending = self._is_async
        self._unawaited: Coroutine[Any, Any, None] | None = None
        self._failing: tuple[Deviation, ...] | None = None
        self._found = Finding(f"Exploration of {body_name(body)}()", "not run yet")
        current().findings.append(self._found)
        self._report = FailureReport(self._found, self._trials, body, ready_made, item)
        self._first = first  # of the first run, if the test runs again

    def __repr__(self) -> str:
        return f"<Exploration: {self._found.result}>"

    def __str__(self) -> str:
        return self._found.result

    @property
    def worlds(self) -> int:
        """The number of different worlds that were tried, including the body as written.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._require_awaited()
        return self._tried.worlds

    @property
    def complete(self) -> bool:
        """Whether every world up to ``depth`` was tried; if not, ``str()`` says why.

        An exploration that is not complete still passes.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._require_awaited()
        return self._tried.is_complete

    @property
    def _remedy(self) -> str:
        return f"{_REMEDY}{shared_folder(self._item)}."

    def _left_behind(self, error: BaseException) -> str:
        hint = f"{_LEFT_BEHIND}{shared_folder(self._item)}."
        return f"{type(error).__name__}: {text_of(error)}{self._about_threads}\n{hint}"

    @property
    def _about_threads(self) -> str:
        late = about_late(self._trials.late_threads)
        return late and f"; perhaps {late}"

    @property
    def _failed_as_written(self) -> bool:
        return self._failing is None

    def _require_awaited(self) -> None:
        if self._is_pending:
            name = body_name(self._body)
            raise NotAwaited(
                f"the exploration of {name}() was never awaited: write `await "
                f"chat_explore({name})` in an `async def` test, or `await {name}` below "
                f"`@chat_explore`"
            )

    def _warn_if_never_awaited(self) -> None:
        # Python itself warns about this coroutine; our own finaliser could swallow an interrupt.
        async def unawaited() -> None:
            pass

        if self._is_async:
            unawaited.__qualname__ = f"the exploration of {body_name(self._body)}()"
            self._unawaited = unawaited()

    def __await__(self) -> Generator[Any, Any, Exploration]:
        if not self._is_async:
            name = body_name(self._body)
            raise TypeError(
                f"there is nothing to await: {name}() is a plain function, which was explored when "
                f"chat_explore was called. Remove `await`, or write `async def {name}`"
            )
        if self._unawaited is not None:
            self._unawaited.close()
        yield from self._explore().__await__()
        return self

    def _run(self) -> Exploration:
        run_at_once(self._explore())
        return self

    async def _explore(self) -> None:
        self._is_pending = False
        try:
            self._environment.freeze()
            with current().following(self._code), ExitStack() as stack:
                note_work(stack)
                note_printed_errors(stack)
                if self._scope.only is not None:
                    await self._try_only(self._scope.only)
                else:
                    await self._try_all()
        finally:
            self._environment.restore()
            self._progress("")  # wipes the line
            if (first := self._first) is not None:
                self._tried, self._found.result = first._tried, first._found.result

    async def _try_all(self) -> None:
        scope, search, ready_made = self._scope, self._search, self._ready_made
        began = monotonic()
        end = began + (math.inf if scope.seconds is None else scope.seconds)
        next_line = began + _QUIET
        await self._try_written()
        candidates = search.worlds_to_try()
        for deviations in candidates:
            if ready_made and not all(
                ready_made.wants(each, search.written) for each in deviations
            ):
                continue
            now = monotonic()
            if now >= end:
                search.cut = f"seconds={scope.seconds:g}"
                break
            if now >= next_line:
                next_line = now + _EVERY
                self._progress(self._progress_line(now - began))
            world = await self._try_races(deviations)
            if world is None:
                continue
            if world.error is not None:
                self._found.result = f"failed in world {search.worlds + 1}"
                await self._explain(world, f"passes as written; fails in world {search.worlds + 1}")
                if not scope.stop_at_first:
                    until = min(end, 2 * monotonic() - began)
                    await self._try_others(candidates, until, end)
                raise world.error
            self._count(world)
        self._found.result = self._tried.end()

    async def _try_written(self) -> None:
        # The body as written has to pass, and to do the same when it is run again.
        world = await self._trials.run_control(self._trials.baseline)
        if world.error is not None:
            self._found.result = "failed in world 1"
            self._report.show_timeline(world, world.error)
            raise world.error
        self._add(world)
        if self._scope.depth:
            self._require_options(world)
            await self._require_repeatable(world)
            await self._trials.learn_steps(world)
        elif self._scope.runs_again:
            await self._require_control(world)

    def _add(self, world: World) -> None:
        if self._scope.depth and (call := world.call_in_process):
            problem = f"expected calls over a socket, got {call} through chat_fake.wsgi_app"
            for kind in OVER_A_SOCKET:
                self._tried.leave_out(kind, problem, "Call chat_fake.base_url")
        log = world.log()
        self._search.add(log)
        self._note_order(log)

    def _count(self, world: World) -> None:
        self._add(world)
        self._tried.kinds.update(deviation.kind for deviation in world.deviations)

    def _note_order(self, log: WorldLog) -> None:
        if self._ready_made is not None and not self._tried.has_another_order:
            self._tried.has_another_order = is_another_order(self._search.written, log)

    async def _try_races(self, deviations: tuple[Deviation, ...]) -> World | None:
        # If a world with several races fails, find out which of them is to blame.
        trials = self._trials
        if self._scope.kinds != RACES:
            return await self._try_world(deviations)
        races = tuple(race for race in deviations if race.start not in trials.disordered)
        if len(races) > 1:
            world = await trials.run(races, trials.baseline)
            if world.error is None and not world.comparison.suspects:
                return world
            for race in races:
                one = await self._try_world((race,))
                if one is not None and one.error is not None:
                    return one
                if one is not None:
                    self._count(one)
        return await self._try_world(races) if races else None

    async def _try_world(self, deviations: tuple[Deviation, ...]) -> World | None:
        # None: nothing deviated, or there is no verdict.
        trials = self._trials
        if any(each.kind in RACES and each.start in trials.disordered for each in deviations):
            return None
        world = await trials.run(deviations, trials.baseline)
        if why := world.early.why_too_early:  # each further world would wait for a timeout as well
            early = (each.kind for each in deviations if each.kind in EARLY)
            self._search.left_out |= dict.fromkeys(early, why)
            return None
        for _ in range(RUNS - 1):
            if not world.early.why_not_first or world.inside.is_blocked:
                break
            world = await trials.run_again(world)
        if unfired := world.unfired:
            if self._scope.only is not None:
                world.require_all_fired()
            trials.unfired |= unfired
            return None
        proven = await trials.prove(world)
        if proven is None or proven.error is None:
            return proven
        in_turn = await trials.run_in_turn(proven)
        why = self._ready_made.why_in_order if self._ready_made else ""
        if in_turn is not None and why:
            trials.unfired |= dict.fromkeys([each.kind for each in deviations], why)
            return None
        return in_turn or proven

    async def _try_others(
        self, candidates: Iterator[tuple[Deviation, ...]], until: float, end: float
    ) -> None:
        # The first candidates are tried until `end`; after `_FURTHER` of them, only until `until`.
        failing = {deviation.what for deviation in self._failing or ()}
        lines: list[str] = []
        tried = 0
        for deviations in candidates:
            if len(deviations) != 1:
                break
            if deviations[0].what in failing:
                continue
            if monotonic() >= (end if tried < _FURTHER else until):
                break
            tried += 1
            try:
                world = await self._try_world(deviations)
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
            found = world.deviations[0]  # perhaps another one, which is the cause
            is_known = found.what in failing
            failing |= {deviations[0].what, found.what}
            if is_known:
                continue
            # Failed worlds, the first finding included, aren't in `worlds`.
            number = self._search.worlds + len(lines) + 2
            lines.append(f"also: {found.kind} (world {number}): {describe(found, log)}")
        self._report.add_others(lines)

    def _require_options(self, written: World) -> None:
        written.require_chances(self._scope.kinds)
        if not written.seen.watches:
            problem = "expected an in-process app, got none"
            for kind in sorted({*CRASHING, *RACES}):
                self._tried.leave_out(kind, problem, "Connect it as wsgi= or asgi=")
        elif self._scope.crash_points is not None:
            watches = written.seen.watches
            self._tried.missed_points = why_missed(watches, self._scope)
            if "crash" in self._scope.kinds:
                self._tried.cannot_crash = why_safe(watches, self._scope)

    def _progress_line(self, seconds: float) -> str:
        # The longest part shows whether the app or the body is slow.
        worlds = counted(self._search.worlds, "world")
        spent = self._environment.spent
        slowest, most = spent.most_common(1)[0]
        share = most / spent.total()
        return f"chat_explore: {worlds}, {seconds:.0f} s, {share:.0%} of it {slowest}"

    async def _try_only(self, deviations: tuple[Deviation, ...]) -> None:
        trials = self._trials
        written = await trials.run_control(trials.baseline)
        if written.error is not None:
            raise written.error
        written.require_chances([deviation.kind for deviation in deviations])
        await trials.learn_steps(written)
        self._search.add(written.log())
        world = await self._try_world(deviations)
        if world is None:
            self._found.result = self._tried.end_with_one()
            return
        self._note_order(world.log())
        if world.error is not None:
            self._found.result = f"failed in the world {[*map(str, deviations)]}"
            await self._explain(world, "fails in this world")
            raise world.error
        world.require_all_fired()
        self._found.result = self._tried.end_with_one()

    async def _require_repeatable(self, first: World) -> None:
        # The ids differ, as in the suite's next run. If threads act, one of several runs has to do
        # the same, in any order.
        for left in reversed(range(RUNS)):
            second = await self._trials.run((), Baseline(), "other ids")
            error = second.error
            if error is not None and _is_refusal(error):
                raise error
            may_vary = first.may_vary or second.may_vary
            is_alike = error is None and gist(first) == gist(second)
            is_same = is_alike and outline(first.seen) == outline(second.seen)
            self._tried.is_reordered |= not is_same
            if is_alike and (is_same or may_vary):
                self._search.add_again(second.log())
                return
            if not (left and may_vary):
                refuse_difference(first, second, self._about_threads, self._remedy)

    async def _require_control(self, world: World) -> None:
        # If the same run fails without anything new, an earlier world has left something behind.
        again = await self._trials.run_control(world.baseline, world.deviations)
        if (error := again.error) is None:
            return
        self._found.result = "failed as written when it was run again"
        if again.comparison.differs_by(error):
            again.comparison.blame(error, _BY_ITSELF)
            error = NotRepeatable(f"{error}{self._about_threads}\n{self._remedy}")
        elif world.error is not None and not _is_refusal(error):
            error = NotRepeatable(
                f"the scenario as written passed at first, but fails when it is run again, with "
                f"{self._left_behind(error)}"
            )
        self._report.show_timeline(again, error)
        raise error from (None if error is again.error else again.error)

    async def _require_again(self, world: World) -> None:
        # An earlier world may also have left something behind that the failing world used up.
        if world.may_vary or world.inside.is_blocked:
            return
        error = world.error
        assert error is not None
        if (await self._trials.run_again(world)).error is not None:
            return
        self._found.result = "failed in one run and passed in another"
        error = NotRepeatable(
            f"a world failed, but passes when it is run again after the scenario as written, with "
            f"{self._left_behind(error)}"
        )
        self._report.show_timeline(world, error)
        raise error from world.error

    async def _explain(self, world: World, head: str) -> None:
        error = world.error
        assert error is not None
        for _ in range(RUNS if world.may_vary else 1):
            await self._require_control(world)
        self._failing = world.deviations
        sentences = self._report.blame(world, error)
        await self._require_again(world)
        await self._report.explain(world, error, head, sentences)


def _is_refusal(error: BaseException) -> bool:
    # Such an error already says what to do.
    is_ours = isinstance(error, ChatFakeError | SnapshotError)
    return is_ours and not isinstance(error, UndeliveredWebhooks)


def shared_folder(item: Any) -> str:
    """Return a hint if the test's worlds share a folder that looks as if it were empty."""
    if "tmp_path" not in getattr(item, "fixturenames", ()):
        return ""
    return (
        ". tmp_path is one folder for all worlds of a test: take tmp_path_factory, and call "
        'tmp_path_factory.mktemp("world") for each'
    )


def body_name(body: Body) -> str:
    return getattr(body, "__name__", type(body).__name__)
