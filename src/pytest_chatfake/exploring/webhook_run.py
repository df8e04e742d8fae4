"""How the tests of ``WebhookTests`` explore: what each world does, and what it has to end with."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import pytest

from ..base.arguments import cited
from ..base.errors import ChatFakeError, IllegalTransition
from ..base.tracebacks import text_of
from ..base.views import counted, listed
from ..fake.details import is_posted, let_retry, never_disable, target_of, was_made
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..fake.snapshots import is_of_a_snapshot
from .baseline import Comparison, Content
from .changes import ChangeCount
from .deviations import Deviation
from .exploration import Exploration
from .explorer import Explorer
from .failure_report import ReadyMadeTest
from .first_tests import CHANGE, FIRST, ORDER, RIGHT, has_failed
from .late_threads import about_late
from .printed_test import Written
from .ready_made import Parameters, ReadyMade, item_of, writes
from .ready_made_run import Ending, ReadyMadeRun
from .scene import Scene
from .search import WorldLog
from .sent_messages import SentMessages, await_books
from .world_observer import observer_of

#: Returns whether a deviation is tried, given the log of the world as written.
Wants: TypeAlias = Callable[[Deviation, WorldLog], bool]

_AS_WRITTEN: Final = "the scenario as written ends wrong"

_ALL_ALIKE: Final = (
    "no world differed from the scenario as written: does your app do its work after the response?"
)

_NO_SNAPSHOT: Final = (
    "connect() returned no snapshot, so only responses were checked; return a function that "
    "returns your app's state, as in lambda: dict(app.statuses)"
)

NO_EXPECTED: Final = "nothing says what is right: write expected(self, chat_fake)"

_FORGET: Final = (
    "write a method forget(self) that deletes what has expired by then (def forget(self): pass if "
    "nothing expires)"
)

_NO_CALL: Final = "your app makes no API call while it handles a webhook"

_NO_KEY: Final = "it can't know whether a call took effect: pass send_endpoint(idempotency_header=)"

#: Hints if no event changes the snapshot.
_IN_A_QUEUE: Final = (
    "All events got 2xx and nothing changed: does your app put them in a queue? Run its worker in "
    "scenario(self, chat_fake)."
)
_UNKNOWN: Final = (
    "If the app only knows messages that it sent itself, let it send them in scenario(self, "
    "chat_fake). If it answers people, write chat_fake.recipient('+1').writes('Hello') there."
)


class _Plan(NamedTuple):
    """What the worlds of an exploration do.

    Attributes:
        kinds: The kinds of deviations; without any, the scenario is only played as written.
        ending: What each world does after the scenario.
        compares: Whether the snapshot has to show what the scenario does.
        has_to_be_right: Whether it has to be as ``expected()`` says after the first scenario.
        raise_exceptions: Whether an app's errors fail the test.
        prepare: What each world does before the scenario. If the scenario itself then fails, the
            test is skipped.
        wants: Chooses deviations, if API calls fail while the app handles an event. Events that it
            therefore refuses are retried.
    """

    kinds: tuple[str, ...] = ()
    ending: Ending | None = None
    compares: bool = False
    has_to_be_right: bool = False
    raise_exceptions: bool = True
    prepare: Callable[[ChatFake], object] | None = None
    wants: Wants | None = None


class WebhookRun(ReadyMadeRun):
    """The explorations of one ready-made test.

    Args:
        tests, explorer, request: As of a :class:`.ReadyMadeRun`.
        scenario: The user's method, or ours.
        forget: The user's method, or ours.

    Attributes:
        has_own_scenario: Whether the scenario is the user's.
        runs_here: Whether an app runs in this process.
        judges: Whether the scenario as written ended as ``expected()`` says, which then judges
            other worlds as well.
    """

    parameters: ClassVar[Parameters] = (
        ("connect", ("chat_fake",), "fixtures may follow"),
        ("scenario", ("chat_fake",), "fixtures are parameters of connect()"),
        ("expected", ("chat_fake",), "connect() can set what it needs, as in self.app = ..."),
        ("forget", (), "connect() can set what it needs, as in self.cache = ..."),
    )

    def __init__(
        self,
        tests: ReadyMade,
        explorer: Explorer,
        request: pytest.FixtureRequest,
        *,
        scenario: Callable[[ChatFake], Any],
        forget: Callable[[], Any],
    ) -> None:
        self.has_own_scenario: bool = writes(tests, "scenario")
        own = "scenario" if self.has_own_scenario else "connect"
        super().__init__(tests, explorer, request, own, (tests.connect, scenario))
        self._scenario = scenario
        self._forget = forget
        self._sent = SentMessages(self._name, self.note)
        self._changes: ChangeCount | None = None
        self._has_aged = False  # whether the test moved the clock
        self._was_played = False  # whether the scenario passed in the first world
        self.runs_here: bool = True
        self.judges: bool = False

    # The explorations

    def compare(
        self,
        *kinds: str,
        ending: Ending | None = None,
        raise_exceptions: bool = True,
        advice: str = "",
    ) -> Exploration:
        """Compare the snapshots of all worlds with a deviation of these kinds."""
        exploration = self._explore(
            _Plan(kinds, ending, compares=True, raise_exceptions=raise_exceptions)
        )
        self._require_worlds(exploration, advice)
        return exploration

    def compare_sends(self) -> None:
        """Let API calls fail that the app makes while it handles an event, and count messages."""
        sent: Counter[Content] | None = None  # in the first world
        is_clear = False  # whether the app can know if a call took effect

        async def count_messages(scene: Scene) -> None:
            nonlocal sent, is_clear
            books = await await_books(scene, sent or Counter())
            is_clear = books.can_deduplicate
            sent = books.sent if sent is None else sent
            lines = [*books.repeats(sent), *books.missing(sent)]
            scene.require_none(lines, sent, "an API call failed")

        def wants(deviation: Deviation, log: WorldLog) -> bool:
            in_attempts = {(each.number, each.call) for each in log.calls if each.is_in_attempt}
            may_try = is_clear or deviation.kind != "api.lose_response"
            return may_try and (deviation.start, deviation.call) in in_attempts

        kinds = "api.fail", "api.rate_limit", "api.lose_response"
        exploration = self._explore(_Plan(kinds, count_messages, compares=True, wants=wants))
        if not exploration._tried.deviating:
            reason = _NO_CALL if is_clear else f"{_NO_CALL}, or {_NO_KEY}"
            pytest.skip(exploration._tried.no_verdict or reason)
        self._require_worlds(exploration)

    def require_right(self) -> None:
        """Go on only if the scenario as written ends as ``expected()`` says."""
        if not writes(self._tests, "expected"):
            pytest.skip(NO_EXPECTED)
        self._skip_if_failed(RIGHT)
        if self._name != RIGHT and item_of(self._tests.expected_failures, RIGHT):
            pytest.skip(f"{RIGHT} is expected to fail")
        self._explore(_Plan(ending=self.count_events, compares=True, has_to_be_right=True))

    def explore(
        self,
        *,
        ending: Ending | None = None,
        compares: bool = False,
        raise_exceptions: bool = True,
        prepare: Callable[[ChatFake], object] | None = None,
    ) -> None:
        """Play the scenario as written, as the arguments of a :class:`_Plan` say."""
        plan = _Plan((), ending, compares, raise_exceptions=raise_exceptions, prepare=prepare)
        self._explore(plan)

    def _explore(self, plan: _Plan) -> Exploration:
        prepare, is_through = plan.prepare, False

        async def scenario(chat_fake: ChatFake) -> None:
            nonlocal is_through
            is_through = False
            inside = Inside(chat_fake)
            by_hand = observer_of(inside).by_hand  # then it only does what the test to paste does
            if prepare is not None:
                await inside.performed(prepare(chat_fake))
            async with self._connected(chat_fake) as snapshot:
                raises = plan.raise_exceptions or by_hand
                self._check_endpoints(inside, raises=raises, retries=plan.wants is not None)
                scene = self._scene(chat_fake, snapshot)
                if not (by_hand or prepare):
                    await self._new_apps.require(scene)
                is_first = not self._was_played
                await self._play(scene, looks=bool(plan.kinds))
                is_through = True
                await self._end(scene, plan, is_first=is_first, by_hand=by_hand)
                if not by_hand:
                    await inside.performed(chat_fake.settle())
                    inside.checks.require_accepted()

        scope = self._scope(plan.kinds)._replace(
            stop_at_first="unknown_value" not in plan.kinds,  # name each field
            may_miss_points="crash_points" not in vars(type(self._tests)),
            runs_again=self._name == FIRST,  # to find an app that remembers an earlier world
        )
        row = ReadyMadeTest(
            self._name, self._as_written, plan.wants or _wants_all, self._why_in_order
        )
        try:
            exploration = self._run_explorer(scenario, scope, row, is_called=self.has_own_scenario)
        except Exception as error:
            self._skip_or_hint(error, is_through=is_through, is_prepared=prepare is not None)
            raise
        if plan.compares and not self._taken:
            pytest.skip(_NO_SNAPSHOT)
        self._skip_if_not_aged(exploration)
        self._note_errors()
        return exploration

    def _skip_or_hint(self, error: Exception, *, is_through: bool, is_prepared: bool) -> None:
        last = self._explorer.explorations[-1]
        if last._failed_as_written and not is_through:
            self._skip_if_failed(FIRST)
            if is_prepared:
                why = f"{type(error).__name__}: {text_of(error)}".partition("\n")[0]
                pytest.skip(f"your scenario itself fails in this case, with {why}")
        if is_prepared:  # what the app keeps may have to expire
            self._skip_if_not_aged(last)
        if is_of_a_snapshot(error):
            self._skip_if_failed(CHANGE)
        self._note_errors(error)

    def _require_worlds(self, exploration: Exploration, advice: str = "") -> None:
        tried = exploration._tried
        if reason := tried.why_nothing or _ALL_ALIKE * (not tried.deviating):
            pytest.skip(reason)
        self._skip_if_by_chance(exploration, advice if self.runs_here else "")
        self._note_tried(exploration)

    def _skip_if_not_aged(self, exploration: Exploration) -> None:
        is_ours = self._has_aged and not writes(self._tests, "forget")
        if is_ours and (why := exploration._trials.memories.why_not_aged):
            pytest.skip(why + _FORGET)

    def _skip_if_failed(self, name: str) -> None:
        # The other test says why this one would fail.
        if self._name != name and has_failed(self._item, name):
            pytest.skip(f"{name} fails")

    @property
    def _why_in_order(self) -> str:
        # Why another order of events may fail, and isn't reported here; empty: it is.
        if has_failed(self._item, ORDER):
            return f"{ORDER} fails"
        if item_of(self._tests.expected_failures, ORDER):
            return f"{ORDER} is expected to fail"
        return f"{ORDER} is left out" * (getattr(self._tests, ORDER) is None)

    def _note_errors(self, failure: Exception | None = None) -> None:
        # Name what the app logged for events that it accepted, unless the failure does.
        errors = self._explorer.explorations[-1]._trials.accepted_errors
        if not errors or any(error in str(failure) for error in errors):
            return
        self.note(_accepted(errors))
        if failure is not None:
            failure.add_note(f"Hint: {_accepted(errors)}.")

    # What a world does after the scenario

    async def count_events(self, scene: Scene) -> None:
        events = {attempt.event for attempt in scene.inside.attempts if was_made(attempt)}
        self.note_extent(counted(len(events), "event"))

    async def age(self, scene: Scene, by: timedelta) -> None:
        """Move the clock, and let the app forget what has expired by then."""
        self._has_aged = True
        await scene.inside.performed(scene.fake.clock.advance(by))
        await self._await_method("forget()", self._forget())

    async def is_right(self, scene: Scene) -> bool:
        """Return whether the snapshot is what ``expected()`` returns."""
        try:
            await self.judge(scene)
        except AssertionError:
            return False
        return True

    async def judge(self, scene: Scene, cause: str = _AS_WRITTEN) -> None:
        """Compare the snapshot with what ``expected()`` returns."""
        comparison = scene.comparison
        if scene.snapshot is None:
            pytest.skip(_NO_SNAPSHOT)
        if comparison.baseline.until or not comparison.judges:
            return
        await scene.inside.settle()
        await comparison.judge(await self._expected(scene.fake), scene.snapshot, cause)

    # A world

    async def _end(self, scene: Scene, plan: _Plan, *, is_first: bool, by_hand: bool) -> None:
        if plan.compares and is_first and scene.snapshot is not None:
            await self._check_as_written(scene, has_to_be_right=plan.has_to_be_right)
            self._check_change(scene, await scene.inside.taken(scene.snapshot))
        if plan.ending is not None and not by_hand:
            await plan.ending(scene)
        if not plan.kinds:
            return
        books = await self._sent.await_late(scene)
        if self.judges:
            await self.judge(scene)
        if scene.snapshot is not None:
            await scene.inside.performed(scene.fake.assert_order_independent(scene.snapshot))
        self._sent.check(scene, books or scene.books)

    async def _play(self, scene: Scene, *, looks: bool) -> None:
        look = None
        if looks and scene.snapshot is not None:
            look = partial(scene.comparison.look, snapshot=scene.snapshot)
        with self._counting(scene):
            await play_scenario(scene, self._scenario, scene.comparison.baseline.until, look)
        if not self._was_played:
            _require_attempts(scene)
            scene.inside.checks.require_accepted()
            scene.inside.checks.run()
        self._was_played = True

    @contextmanager
    def _counting(self, scene: Scene) -> Generator[None]:
        # Count the events that change the snapshot, for the test that says so.
        if self._name != CHANGE or self._was_played or scene.snapshot is None:
            yield
            return
        self._changes = ChangeCount(scene.inside, scene.snapshot)
        plugins = self._item.config.pluginmanager
        plugins.register(self._changes)
        try:
            yield
        finally:
            plugins.unregister(self._changes)
        self.note_extent(self._changes.summary())

    def _check_endpoints(self, inside: Inside, *, raises: bool, retries: bool) -> None:
        if not inside.connected:
            raise ChatFakeError(
                "connect(): expected it to connect the app, got no endpoint; call "
                "chat_fake.webhooks.connect(...) in it"
            )
        self.runs_here = any(target_of(each).in_process for each in inside.connected)
        for endpoint in inside.connected:
            endpoint.raise_exceptions = endpoint.raise_exceptions and raises
            never_disable(endpoint)  # the test's own faults must not count as failures
            if retries:
                let_retry(endpoint)

    async def _check_as_written(self, scene: Scene, *, has_to_be_right: bool) -> None:
        # If the scenario as written ends wrong, one test says so, and the others go on as if there
        # were no expected().
        if not writes(self._tests, "expected"):
            return
        try:
            await self.judge(scene)
            self.judges = True
        except Exception:
            if has_to_be_right:
                raise

    def _check_change(self, scene: Scene, value: Any) -> None:
        is_right = self.judges and self._name != CHANGE  # it may be as it was, such as money held
        if is_right or value != self._new_apps.before or (self._changes and self._changes.events):
            return
        self._skip_if_failed(CHANGE)
        was = f"it was {cited(value)} before and after the scenario"
        problem = f"the snapshot did not change: {was}"
        if errors := scene.seen.accepted_errors():
            raise AssertionError(f"{_accepted(errors)}, and {problem}")
        if late := about_late(scene.seen.late_threads):
            raise AssertionError(f"{problem}; {late}")
        hint = _IN_A_QUEUE if scene.app_sends else _UNKNOWN
        raise AssertionError(f"{problem}\n{hint}")

    # The test to paste

    def _as_written(self, comparison: Comparison) -> Written:
        until, compares = comparison.baseline.until, bool(self._taken) and comparison.compares
        play = f"{'await ' * self._is_async}self.play(chat_fake{f', steps={until}' * bool(until)})"
        is_judged = comparison.difference.basis != "as written"
        return self._pasted(comparison, play, compares=is_judged or compares)


async def play_scenario(
    scene: Scene,
    scenario: Callable[[ChatFake], Any],
    last: int,
    look: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    """Play a scenario, and settle.

    Args:
        scene: Where to play it.
        scenario: Plays it, or returns a generator that yields steps.
        last: The number of the last step to play; 0: all.
        look: Called after each step, with its number.
    """
    steps = scenario(scene.fake)
    if inspect.isgenerator(steps):
        with suppress(StopIteration), closing(steps):
            step: Any = next(steps)
            for number in count(1):
                try:
                    is_awaited = scene.inside.is_async and inspect.isawaitable(step)
                    result: Any = await step if is_awaited else step
                except Exception as error:  # the scenario may expect it
                    # To ask it would be to begin the next step, and a refused one changes nothing.
                    if number == last and isinstance(error, IllegalTransition):
                        break
                    step = steps.throw(error)
                else:
                    if look is not None:
                        await look(number)
                    if number == last:
                        break
                    step = steps.send(result)
    elif inspect.isasyncgen(steps):
        raise TypeError(
            "scenario(): expected no yield in an async def; write a plain def, which yields what "
            "you would await"
        )
    elif inspect.isawaitable(steps):
        await steps
    await scene.settle_with_retries()


def _wants_all(_: Deviation, __: WorldLog) -> bool:
    return True


def _require_attempts(scene: Scene) -> None:
    events = scene.fake.events
    if not len(events):
        raise ChatFakeError("scenario(): expected events, got none; send a message in it")
    if not any(map(is_posted, events)):
        raise ChatFakeError(
            "outbound=: expected a body for one of the scenario's events at least, got None for "
            "each; nothing was posted"
        )
    if not any(map(was_made, scene.inside.attempts)):
        types = listed(dict.fromkeys(event.type for event in events))
        raise ChatFakeError(
            f"connect(): expected an endpoint that listens for {types}, the scenario's events, got "
            f"none; pass their types as connect(events=)"
        )


def _accepted(errors: Mapping[str, str]) -> str:
    # The first of the errors that the app logged, and an event that it accepted nevertheless.
    error, event = next(iter(errors.items()))
    others = counted(len(errors) - 1, "other error")
    text = f"the app accepted {event}, but logged {error}"
    if not event:
        text = f"{error} was raised in the background"
    return text + f", and {others}" * (len(errors) > 1)
