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
from itertools import zip_longest
from time import monotonic
from types import CodeType
from typing import Any, Final, NamedTuple, NoReturn

from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import ChatFakeError, NotAwaited, NotRepeatable, UndeliveredWebhooks
from ..base.findings import Finding
from ..base.redaction import redacted
from ..base.tracebacks import text_of
from ..base.views import counted, listed
from ..fake.snapshots import SnapshotError
from ..report.timeline_text import timeline_text
from .arrivals import is_another_order
from .baseline import Baseline, Comparison
from .description import describe
from .deviations import CRASHING, EARLY, KINDS, OVER_A_SOCKET, Deviation
from .late_threads import about_late, jobs_noted
from .printed_errors import printed_errors_noted
from .printed_test import NoTestError, Written, body_as_written, print_test
from .search import CheckedOptions, Search, WorldLog
from .timeline_diff import timeline_diff
from .trials import RUNS, Trials
from .world import Body, Environment, World, is_skip

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

_BY_HAND: Final = (
    "write a test that moves the clock, deletes what has expired by then, and calls "
    "assert_idempotent()"
)

_BY_ITSELF: Final = "the scenario as written gives a different snapshot when it is run again"

_LEFT_BEHIND: Final = (
    "An earlier world has probably left something behind. All worlds share what a module or a "
    "fixture holds, such as a queue: empty it at the start of each world"
)

#: Takes a progress line; an empty one at the end.
Progress = Callable[[str], None]


class ReadyMadeTest(NamedTuple):
    """A ready-made test, whose body is ours: its equivalent code is printed instead.

    Attributes:
        name: The test's name.
        as_written: Returns the test's code, given what a world was compared with.
        wants: Whether it tries a deviation, given the log of the world as written.
    """

    name: str
    as_written: Callable[[Comparison], Written]
    wants: Callable[[Deviation, WorldLog], bool]


class Exploration:
    """An exploration and its result, as returned when you call ``chat_explore``.

    In an async test, nothing happens until you ``await`` the exploration.

    ``str(exploration)`` says how it ended, and is the text that pytest shows in the section
    ``chat_explore``.
    """

    def __init__(
        self,
        body: Body,
        scope: CheckedOptions,
        environment: Environment,
        progress: Progress,
        item: Any,
        *,
        row: ReadyMadeTest | None,
    ) -> None:
        self._body = body
        self._row = row
        self._scope = scope
        self._environment = environment
        self._trials = Trials(body, environment)
        self._progress = progress
        self._item = item
        code = getattr(inspect.unwrap(body), "__code__", None)
        self._code: CodeType | None = code if row is None else None
        self._search = Search(scope)
        self._is_async = inspect.iscoroutinefunction(body)
        self._is_pending = self._is_async
        self._unawaited: Coroutine[Any, Any, None] | None = None
        self._worlds = 0
        self._complete = False
        self._cannot_crash = ""
        self._missed = ""  # why crash points were not reached, although the class may be right
        self._is_reordered = False  # whether threads acted in another order in a second run
        self._has_another_order = False  # whether events reached an app in another order
        self._kinds_tried = set[str]()
        self._failing: tuple[Deviation, ...] | None = None
        self._found = Finding(f"Exploration of {body_name(body)}()", "not run yet")
        current().findings.append(self._found)
        self._first: Exploration | None = None

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
        return self._worlds

    @property
    def complete(self) -> bool:
        """Whether every world up to ``depth`` was tried; if not, ``str()`` says why.

        An exploration that is not complete still passes.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._require_awaited()
        return self._complete

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

    @property
    def _why_nothing(self) -> str:
        # Empty if a world with snapshots to compare was tried.
        reasons = [self._missed, *self._search.left_out.values(), self._cannot_crash]
        compares = any(KINDS[kind].compares for kind in self._kinds_tried)
        return "" if compares and self._worlds > 1 else next(filter(None, reasons), "")

    @property
    def _why_not_aged(self) -> str:
        # Why a move of the clock proves nothing, up to what to write; empty: it does.
        return self._trials.memories.why_not_aged

    @property
    def _deviating(self) -> int:
        # The number of worlds besides the body as written.
        return self._worlds - (self._scope.only is None)

    @property
    def _untried(self) -> list[str]:
        # What was left out, although something was tried.
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
        return [*untried, *filter(None, [self._cannot_crash, self._missed])]

    @property
    def _meetings(self) -> str:
        # Where two attempts at the same time were held for each other; empty: nowhere.
        if met := self._places("met"):
            return f"both attempts met {met}"
        if held := self._places("left", "limit"):
            return f"one attempt was held {held}, while the other waited or ended"
        on_a_loop = self._places("on a loop")
        return f"nothing was held {on_a_loop}, on the event loop" * bool(on_a_loop)

    def _places(self, *wanted: str) -> str:
        # Where meetings ended in one of these ways; empty: nowhere.
        ends = self._environment.ends
        points = (point for point in ends if not ends[point].isdisjoint(wanted))
        words = dict.fromkeys(str(point._replace(nth=1)) for point in points)
        return listed(words) if words else ""

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

    def _repeat(self, first: Exploration, *, is_whole: bool) -> None:
        # One world is usually enough: the one that failed, or else the body as written.
        self._first = first
        if is_whole:
            return
        only = first._failing or first._scope.only
        self._scope = first._scope._replace(depth=0, only=only)
        self._search = Search(self._scope)

    def _run(self) -> Exploration:
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
                self._has_another_order = first._has_another_order

    async def _try_frozen(self) -> None:
        # In any case, the process gets its clocks back first.
        try:
            self._environment.freeze()
            with current().following(self._code), jobs_noted(), printed_errors_noted():
                if self._scope.only is not None:
                    await self._try_only(self._scope.only)
                else:
                    await self._try_all()
        finally:
            self._environment.restore()

    async def _try_all(self) -> None:
        scope, search, row = self._scope, self._search, self._row
        began = monotonic()
        end = began + (math.inf if scope.seconds is None else scope.seconds)
        next_line = began + _QUIET
        await self._try_written()
        candidates = search.worlds_to_try()
        for deviations in candidates:
            if row and not all(row.wants(each, search.written) for each in deviations):
                continue
            now = monotonic()
            if now >= end:
                search.cut = f"seconds={scope.seconds:g}"
                break
            if now >= next_line:
                next_line = now + _EVERY
                self._progress(self._progress_line(now - began))
            world = await self._tried(deviations)
            if world is None:
                continue
            if world.error is not None:
                self._found.result = f"failed in world {search.worlds + 1}"
                await self._explain(world, f"passes as written; fails in world {search.worlds + 1}")
                if not scope.stop_at_first:
                    until = min(end, 2 * monotonic() - began)
                    await self._try_others(candidates, until, end)
                raise world.error
            self._add(world)
            self._kinds_tried.update(deviation.kind for deviation in deviations)
        self._note_left_out()
        self._worlds = search.worlds
        self._complete = not (search.cut or search.left_out or self._cannot_crash or self._missed)
        self._found.result = self._summary()

    async def _try_written(self) -> None:
        # The body as written has to pass, and to do the same when it is run again.
        world = await self._trials.control(self._trials.baseline)
        if world.error is not None:
            self._found.result = "failed in world 1"
            self._show_timeline(world, world.error)
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
                self._refuse(kind, problem, "Call chat_fake.base_url")
        log = world.log()
        self._search.add(log)
        self._note_order(log)

    def _note_order(self, log: WorldLog) -> None:
        if self._row is not None and not self._has_another_order:
            self._has_another_order = is_another_order(self._search.written, log)

    def _note_left_out(self) -> None:
        search, tried, unfired = self._search, self._kinds_tried, self._trials.unfired
        if "crash" in tried and (why := unfired.get("crash")):
            self._cannot_crash = "; ".join(filter(None, [why, self._cannot_crash]))
        for kind in search.without_options():
            if kind != "crash":  # see why_safe()
                search.left_out.setdefault(kind, KINDS[kind].needs)
        search.left_out |= {kind: why for kind, why in unfired.items() if kind not in tried}
        if why := self._why_not_aged:
            moving = {kind for kind in tried if KINDS[kind].moves_time}
            search.left_out |= dict.fromkeys(moving, why + _BY_HAND)
            tried -= moving

    async def _tried(self, deviations: tuple[Deviation, ...]) -> World | None:
        # None: nothing deviated, or there is no verdict.
        trials = self._trials
        world = await trials.run(deviations, trials.baseline)
        if why := world.why_too_early:  # each further world would wait for a timeout as well
            early = (each.kind for each in deviations if each.kind in EARLY)
            self._search.left_out |= dict.fromkeys(early, why)
            return None
        for _ in range(RUNS - 1):
            if not world.why_not_first or world.inside.is_blocked:
                break
            world = await trials.run_again(world)
        if unfired := world.unfired:
            trials.unfired |= unfired
            return None
        return await trials.proven(world)

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
            kind, what = deviations[0].kind, deviations[0].what
            if what in failing:
                continue
            if monotonic() >= (end if tried < _FURTHER else until):
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
            # Failed worlds, the first finding included, aren't in `worlds`.
            number = self._search.worlds + len(lines) + 2
            lines.append(f"also: {kind} (world {number}): {describe(deviations[0], log)}")
        if lines:
            self._found.note("\n".join(lines))
            self._found.text += redacted("\n" + "\n".join(lines))

    def _require_options(self, written: World) -> None:
        written.require_chances(self._scope.kinds)
        if not written.has_app_in_process:
            problem = "expected an in-process app, got none"
            for kind in sorted(CRASHING):
                self._refuse(kind, problem, "Connect it as wsgi= or asgi=")
        elif self._scope.crash_points is not None:
            self._require_points(written.unreached_points, written.stray_points)
            self._cannot_crash = written.why_safe if "crash" in self._scope.kinds else ""

    def _require_points(self, missed: list[str], strays: set[str]) -> None:
        calls = self._scope.calls_count
        reasons = list[str]()
        if unreached := [name for name in missed if name not in strays]:
            never = "the app never called"
            caller = never if calls else "before its response, no event made the app call"
            problem = f"{caller} {listed(unreached)}"
            if not self._scope.may_miss_points:
                meanwhile = "in send() or work()" if calls else "while it handles an event"
                raise ChatFakeError(
                    f"crash_points: {problem}; name a function that it calls {meanwhile}"
                )
            reasons.append(
                f"{problem}, which the base class names in its crash_points: write crash_points = "
                f"[...] in this class as well"
            )
        if lost := [name for name in missed if name in strays]:
            caller = "send() or work()" if calls else "your handler"
            reasons.append(
                f"{listed(lost)} was only called in a task or thread without the context of "
                f"{caller}: name a function that {caller} calls itself, or submit "
                f"contextvars.copy_context().run to a pool"
            )
        self._missed = "; ".join(reasons)

    def _refuse(self, kind: str, problem: str, remedy: str) -> None:
        # If all kinds were requested, one that can't be tried is just left out.
        if kind not in self._scope.kinds:
            return
        if not self._scope.all_kinds:
            raise ChatFakeError(f"{kind}: {problem}. {remedy}, or leave it out.")
        self._search.left_out[kind] = f"{problem}. {remedy}"

    def _progress_line(self, seconds: float) -> str:
        # The longest part shows whether the app or the body is slow.
        worlds = counted(self._search.worlds, "world")
        spent = self._environment.spent
        slowest, most = spent.most_common(1)[0]
        share = most / spent.total()
        return f"chat_explore: {worlds}, {seconds:.0f} s, {share:.0%} of it {slowest}"

    async def _try_only(self, deviations: tuple[Deviation, ...]) -> None:
        trials = self._trials
        written = await trials.control(trials.baseline)
        if written.error is not None:
            raise written.error
        written.require_chances([deviation.kind for deviation in deviations])
        await trials.learn_steps(written)
        self._search.add(written.log())
        world = await trials.run(deviations, trials.baseline)
        world = await trials.proven(world) or world
        self._note_order(world.log())
        only = list(map(str, deviations))
        if world.error is not None:
            self._found.result = f"failed in the world {only}"
            await self._explain(world, "fails in this world")
            raise world.error
        world.require_all_fired()
        self._worlds = 1
        notes = [*filter(None, [trials.sometimes])]
        if (why := self._why_not_aged) and any(each.traits.moves_time for each in deviations):
            notes.append(f"it proves nothing, as {why}{_BY_HAND}")
        self._found.result = "; ".join([f"1 world, only {only}", *notes])

    async def _require_repeatable(self, first: World) -> None:
        # The ids differ, as in the suite's next run. If threads act, one of several runs has to do
        # the same, in any order.
        for left in reversed(range(RUNS)):
            second = await self._trials.run((), Baseline(), other_ids=True)
            error = second.error
            if error is not None and _is_refusal(error):
                raise error
            may_vary = first.may_vary or second.may_vary
            is_alike = error is None and first.gist == second.gist
            is_same = is_alike and first.outline() == second.outline()
            self._is_reordered |= not is_same
            if is_alike and (is_same or may_vary):
                self._search.add_again(second.log())
                return
            if not (left and may_vary):
                _refuse_difference(first, second, self._about_threads, self._remedy)

    async def _require_control(self, world: World) -> None:
        # If the same run fails without anything new, an earlier world has left something behind.
        again = await self._trials.control(world.baseline, world.deviations)
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
        self._show_timeline(again, error)
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
        self._show_timeline(world, error)
        raise error from world.error

    async def _explain(self, world: World, head: str) -> None:
        error, log, found = world.error, world.log(), self._found
        assert error is not None
        for _ in range(RUNS if world.may_vary else 1):
            await self._require_control(world)
        self._failing = world.deviations
        sentences = ["nothing had deviated yet"]
        if world.has_deviated:
            sentences = [describe(deviation, log) for deviation in world.deviations]
        found.sentence = "; ".join(sentences)
        world.comparison.blame(error, found.sentence)
        await self._require_again(world)
        separator = "\n  " if len(sentences) > 1 else " "
        note = separator.join([f"chat_explore: {head}:", *sentences])
        if world.failed_before_barrier:
            note += "\nHint: call settle() before asserting."
        if world.keeps_memory:
            note += (
                "\nHint: the app kept its memory, which a real crash would wipe. To recreate it: "
                "connect(..., restart=lambda: create_app())."
            )
        found.error = error
        found.note(note)
        self._show_timeline(world, error)
        more = list[str]()
        if world.has_threads and not world.held:
            more.append(
                f"Attempts ran in threads: this world failed {RUNS} times in a row, but may pass "
                f"next time."
            )
        try:
            test = await self._printed_test(world)
        except NoTestError as reason:
            more.append(f"There is no test to paste: {reason}.")
        else:
            found.test = redacted(test)
            found.note(f"As a test to paste (it was run, and fails the same way):\n\n{test}\n")
        only = f"{[*map(str, world.deviations)]}"
        if self._row is None:
            more.append(f"This world alone: chat_explore(only={only})")
        else:
            more.append(f"This world alone: only = {{{self._row.name!r}: {only}}}")
        found.note("\n".join(more))
        found.text = redacted("\n".join([note, *more]))

    async def _printed_test(self, world: World) -> str:
        # A test is only printed if it was run, and failed in the same way.
        baseline, row = world.baseline, self._row
        if row is None:
            body = body_as_written(self._body, world.deviations, settles=world.body_ended)
        else:
            body = row.as_written(world.comparison)
        seed = world.seed_of_ids_in(repr([baseline.values, world.deviations]))
        test = print_test(body, world.deviations, seed=seed, item=self._item)
        alone = await self._trials.run(world.deviations, baseline, by_hand=True)
        if type(alone.error) is not type(world.error) or alone.outline() != world.outline():
            raise NoTestError("on its own, the body does not fail the same way")
        return test

    def _show_timeline(self, world: World, error: BaseException) -> None:
        self._found.error = error
        if hint := self._trials.memories.hint:
            self._found.note(hint)
        if hint := world.inside.key_hint:
            self._found.note(f"Hint: {hint}.")
        story = world.inside.story
        self._found.stories.append(story)
        timeline = timeline_text(story, mentioned=story.mentioned)
        self._found.note(f"What happened in this world:\n{timeline}")

    def _summary(self) -> str:
        search, depth = self._search, self._scope.depth
        worlds = counted(search.worlds, "world")
        if not self._complete:
            text = worlds + f", cut by {search.cut}" * bool(search.cut)
        elif not depth:
            text = f"{worlds}: the body as written"
        else:
            text = f"{worlds}, all with up to {counted(depth, 'deviation')}"
        notes = [
            *(f"{kind} was not tried: {why}" for kind, why in search.left_out.items()),
            "threads acted in a different order when one world was run again" * self._is_reordered,
            self._trials.sometimes,
            self._missed,
            self._cannot_crash and f"crash: {self._cannot_crash}",
        ]
        return "; ".join([text, *filter(None, notes)])


def _refuse_difference(first: World, second: World, threads: str, remedy: str) -> NoReturn:
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
            f"the body is not repeatable: it passed once, then failed with other ids "
            f"({name}: {error})"
        )
    elif difference := next(differences, ""):
        problem = difference
    else:
        problem = (
            "the body is not repeatable: with other ids the snapshot differs in more than strings"
        )
        problem += "" if threads else ". Does it contain real time, or what an earlier world did?"
    lines = [problem + threads]
    if calls := dict.fromkeys(first.calls_of_threads + second.calls_of_threads):
        lines.append(f"Perhaps because of the app's threads: {listed(calls)}.")
    sides = timeline_diff(first.inside.story, second.inside.story)
    raise NotRepeatable("\n".join([*lines, *sides, remedy])) from error


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
