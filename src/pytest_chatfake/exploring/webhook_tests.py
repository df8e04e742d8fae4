"""``WebhookTests``: ready-made tests of an app that receives the service's webhooks."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing, suppress
from difflib import get_close_matches
from functools import partial, wraps
from itertools import count
from types import CodeType
from typing import Any, ClassVar, Final, TypeAlias

import pytest

from ..base.arguments import check_int, check_mapping, check_str, cited
from ..base.calling_line import Line, users_lines
from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import ChatFakeError
from ..base.session_scope import of_the_session
from ..base.tracebacks import raised_at
from ..base.views import listed
from ..fake.config import ChatFakeConfig
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..fake.snapshots import Snapshot, SnapshotError, check_snapshot
from .baseline import Baseline
from .deviations import CRASHING, parse_deviations
from .exploration import Exploration, Row, Scope
from .explorer import CrashPoints, Explorer, checked_points
from .printed_test import NoTestError, Written, as_code
from .recorder import Recorder

#: The first test: once it has failed since the scenario fails, the others are skipped.
_FIRST: Final = "test_all_events_are_taken"

#: The second one: once it has failed, those that compare snapshots are skipped.
_CHANGE: Final = "test_snapshot_changes"

#: Which of these have failed in this run; each worker of pytest-xdist has a run of its own.
_failed_key: Final = pytest.StashKey[set[tuple[object, str, str]]]()

#: What a generator gives at its end.
_END: Final = object()

_NO_SNAPSHOT: Final = (
    "connect() returned no snapshot, so only responses were checked: return a function of your "
    "app's state, as in lambda: dict(app.statuses)"
)

_PERSON: Final = "+4915550003"

#: What a test does after the scenario; it takes the fake, and the snapshot if there is one.
_Ending: TypeAlias = Callable[[ChatFake, Snapshot | None], Awaitable[None]]


class WebhookTests:
    """Fourteen tests of an app that receives webhooks: inherit it, and write ``connect()``.

    Each test explores: it plays :meth:`scenario` in worlds with a fake and a clock of their own,
    each with an app of its own from :meth:`connect`. A test whose worlds have nothing to try is
    skipped, and says why. At the end of the run each class has a card, a line for each test.

    ``test_... = None`` leaves a test out. A class without ``connect()`` is a base of others, and is
    not collected.

    Attributes:
        crash_points: Functions at whose calls the app may crash or get an error, as
            ``chat_explore()`` takes them; such as ``[Session.commit]``, or
            ``{Session.commit: OperationalError}``.
        expected_failures: By the name of a test, why it fails for now. If it passes, it fails.
        only: By the name of a test, the one world that it tries, as its failure printed it.
    """

    __test__: ClassVar[bool] = False
    crash_points: ClassVar[CrashPoints] = ()
    expected_failures: ClassVar[Mapping[str, str]] = {}
    only: ClassVar[Mapping[str, Iterable[str]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        is_base = cls.connect is WebhookTests.connect
        is_misspelt = bool(get_close_matches("connect", vars(cls)))
        cls.__test__ = vars(cls).get("__test__", is_misspelt or not is_base)
        if fixtures := _fixtures_of(cls):  # declared, so that these and classes may have parameters
            pytest.mark.usefixtures(*fixtures)(cls)

    # Yours to write

    def connect(self, chat_fake: ChatFake, *args: Any, **kwargs: Any) -> Any:
        """Make the app, with nothing in its database, and connect it.

        It may be ``async def``, and it may ``yield`` in place of ``return``, with the clean-up
        behind that. Further parameters are fixtures; each is the same in all worlds of a test.

        Returns:
            The *snapshot*: a function without arguments (with ``async def connect``, an async one,
            too) that returns what the app has made of its events: statuses, sums. None: only the
            app's responses are checked.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method connect(self, chat_fake) that connects the "
            f"app, as in chat_fake.webhooks.connect(wsgi=app, path='/hooks/chat')"
        )

    def scenario(self, chat_fake: ChatFake) -> Any:
        """Say what happens; override it for apps that send, or that answer people.

        A plain function; ``async def``; or a generator that yields each step, which is awaited
        where ``connect`` is async: ``message = yield chat_fake.send_text()``.
        """
        yield chat_fake.send_text("first", to="+4915550001").deliver(devices=2).read()
        yield chat_fake.send_text("second", to="+4915550002").fail()

    def play(self, chat_fake: ChatFake, *, steps: int | None = None) -> Any:
        """Play the scenario, as each test does; ``await`` it in an async test.

        Args:
            chat_fake: The fake.
            steps: After how many yields of a generator to end; None: play all of it.
        """
        last = 0 if steps is None else check_int(steps, "steps", 1)
        playing = _played(self.scenario(chat_fake), chat_fake, last)
        return playing if Inside(chat_fake).is_async else run_at_once(playing)

    def connected(self, chat_fake: ChatFake, **fixtures: Any) -> _Connected:
        """Connect the app for a block: ``with self.connected(chat_fake) as snapshot:``.

        In an async test, write ``async with``. What is behind a ``yield`` of :meth:`connect` is
        done at the end of the block, whether it fails or not, as in a fixture.
        """
        return _Connected(self.connect(chat_fake, **fixtures))

    @pytest.fixture(name="chat_fake_config")
    def _with_tick(self, chat_fake_config: ChatFakeConfig) -> ChatFakeConfig:
        """The configuration, with events that say different times, as those of a service do."""
        config = chat_fake_config
        return config.replace(tick=1) if getattr(config, "tick", 0) is None else config

    @pytest.fixture(name="webhook_run")
    def _webhook_run(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> _Run:
        """What the ready-made tests of a WebhookTests class use."""
        return _Run(self, chat_explore, request)

    # The tests, in the order of the card

    def test_all_events_are_taken(self, webhook_run: _Run) -> None:
        """Respond with 2xx to every event of the scenario."""
        webhook_run.explore()

    def test_snapshot_changes(self, webhook_run: _Run) -> None:
        """Show in the snapshot what has happened: else no test can see a mistake."""
        webhook_run.explore(compares=True)

    def test_duplicates(self, webhook_run: _Run) -> None:
        """Take an event that comes twice, or again because the response was lost."""
        webhook_run.compare("duplicate", "lose_response")

    def test_duplicates_under_another_id(self, webhook_run: _Run) -> None:
        """Take an event that comes twice, the second time under another id."""
        webhook_run.compare("duplicate_new_id")

    def test_duplicates_days_later(self, webhook_run: _Run) -> None:
        """Take all events again, two days later."""

        async def again(fake: ChatFake, snapshot: Snapshot | None) -> None:
            await _performed(fake, fake.clock.advance(days=2))
            await _performed(fake, fake.assert_idempotent(snapshot or list))

        webhook_run.explore(ending=again, compares=True)

    def test_duplicates_at_once(self, webhook_run: _Run) -> None:
        """Take an event twice at the same time; one of the two may be refused, and comes again."""
        refused: list[str] = []  # how the attempts of a pair ended; empty: one was taken

        async def retry(fake: ChatFake, _: Snapshot | None) -> None:
            attempts = list(fake.webhooks.attempts)
            pair = [
                attempt
                for attempt in attempts
                if any(mark.kind == "concurrently" for mark in attempt.marks)
            ]
            if pair:
                question = ". Does a thread lack its own connection to the database?"
                why = pair[0].outcome + question * Inside(fake).had_threads
                refused.append("" if any(attempt.ok for attempt in pair) else why)
            for event in dict.fromkeys(each.event for each in attempts if not each.ok):
                fake.webhooks.redeliver(event)
            await _settled(fake)

        webhook_run.compare("duplicate_at_once", ending=retry, raise_exceptions=False)
        if all(refused):
            pytest.skip(f"both attempts at the same time were refused each time: {refused[0]}")

    def test_another_order(self, webhook_run: _Run) -> None:
        """Take events that are late, or that come again after they were refused on the way."""
        webhook_run.compare("reorder", "refuse")

    def test_a_read_at_once(self, webhook_run: _Run) -> None:
        """Take a ``read`` that comes without a ``delivered``: the chat was open (§3 rule 1)."""
        webhook_run.compare("read_at_once")

    def test_webhooks_before_the_response(self, webhook_run: _Run) -> None:
        """Take the webhooks of a send call before its response."""
        webhook_run.compare("webhooks_first")

    def test_a_crash(self, webhook_run: _Run) -> None:
        """Survive a crash in the middle of a webhook, as in a deployment."""
        webhook_run.compare("crash")

    def test_an_error(self, webhook_run: _Run) -> None:
        """Refuse an event, and take it when it comes again, if a call fails that the app makes."""
        webhook_run.compare("error")

    def test_a_later_version(self, webhook_run: _Run) -> None:
        """Ignore fields and types of events that nobody knows yet, and respond to new values."""

        async def unknown(fake: ChatFake, _: Snapshot | None) -> None:
            inside = Inside(fake)
            settings = inside.settings
            kind = f"{settings.naming.event_type.partition('.')[0]}.added_later"
            is_known = settings.outbound is None  # else nobody knows its envelope
            if is_known and inside.is_heard(kind):
                await _performed(fake, fake.webhooks.emit_event(kind))
                await _settled(fake)

        webhook_run.compare("evolve", "unknown_value", ending=unknown)

    def test_people_write(self, webhook_run: _Run) -> None:
        """Take what people write."""

        async def write(fake: ChatFake, snapshot: Snapshot | None) -> None:
            inside, before = Inside(fake), len(fake.events)
            settings = inside.settings
            if settings.outbound is not None and settings.inbound is None:
                pytest.skip(
                    "outbound= shapes status events only: shape what people write, inbound="
                )
            person = fake.recipient(_PERSON)
            await _performed(fake, person.writes("STOP"))
            if snapshot is not None:  # it may wait for a reply
                await _performed(fake, fake.settle())
                await inside.taken(snapshot)
            await _performed(fake, person.sends("image", {"link": "https://example.test/1"}))
            await _settled(fake)
            others = [e for e in fake.events[before:] if not inside.is_about_a_message(e)]
            kinds = [event.type for event in others]
            if not any(map(inside.is_heard, kinds)):
                pytest.skip(f'your endpoint does not listen for {kinds[0]}: connect(events="*")')

        webhook_run.explore(ending=write)

    def test_forgeries(self, webhook_run: _Run) -> None:
        """Refuse what the service has not signed."""

        async def forge(fake: ChatFake, snapshot: Snapshot | None) -> None:
            if not any(endpoint.signer for endpoint in Inside(fake).connected):
                pytest.skip('your endpoint has no signer: connect(signer=HmacSigner("secret"))')
            await _performed(fake, fake.webhooks.assert_rejects_forgeries(snapshot))

        webhook_run.explore(ending=forge)


class _Run:
    """One test of the class: its exploration.

    Args:
        tests: The class's instance.
        explorer: The fixture.
        request: The test's.
    """

    def __init__(
        self, tests: WebhookTests, explorer: Explorer, request: pytest.FixtureRequest
    ) -> None:
        self._tests = tests
        self._explorer = explorer
        self._item: pytest.Item = request.node
        self._name: str = request.function.__name__
        self._fixtures = {name: request.getfixturevalue(name) for name in _fixtures_of(type(tests))}
        self._raises = True
        self._ending: _Ending | None = None
        self._is_alone = False  # as the test to paste is
        self._before: Any = None  # the snapshot after connect(), in the first world
        self._has_snapshot = True
        self._awaits_snapshot = False
        self._was_played = False  # the scenario, in the first world
        self._is_through = False  # the same, in the world that runs
        self._is_async = any(
            inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
            for function in (tests.connect, tests.scenario)
        )
        self._loop: _Loop | None = of_the_session(_Loop) if self._is_async else None
        if self._is_async and self._loop is None:
            self._loop = _Loop()
            request.addfinalizer(self._loop.close)
        if reason := _item_of(tests.expected_failures, self._name):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    def compare(
        self, *kinds: str, ending: _Ending | None = None, raise_exceptions: bool = True
    ) -> None:
        """Explore deviations, and expect the snapshot of the world as written in each world.

        Args:
            *kinds: Those of the deviations.
            ending: What the test does after the scenario.
            raise_exceptions: Whether an exception of the app in process is raised; else it is a
                500.
        """
        self._raises = raise_exceptions
        exploration = self.explore(*kinds, ending=ending, compares=True)
        if reason := exploration._why_nothing:
            pytest.skip(reason)
        if sometimes := exploration._sometimes:
            pytest.skip(f"threads: this {sometimes}. Do two threads share a connection?")

    def explore(
        self, *kinds: str, ending: _Ending | None = None, compares: bool = False
    ) -> Exploration:
        """Play the scenario in the world as written, and in those with one deviation.

        Args:
            *kinds: Those of the deviations; none: the world as written only.
            ending: What the test does after the scenario.
            compares: Whether it compares snapshots, so that the scenario has to change them.
        """
        self._ending = ending

        async def scenario(chat_fake: ChatFake) -> None:
            self._is_through, is_first = False, not self._was_played
            _check_class(type(self._tests))
            made = self._tests.connect(chat_fake, **self._fixtures)
            async with _Connected(made) as snapshot:  # a class may have its own `connected`
                self._check(chat_fake, snapshot)
                if not self._is_alone:
                    await self._check_before(snapshot, chat_fake)
                await self._play(chat_fake, snapshot if kinds else None)
                self._is_through = True
                if compares and is_first and snapshot is not None:
                    await self._check_change(snapshot, chat_fake)
                if self._ending is not None:
                    await self._ending(chat_fake, snapshot)
                if kinds and snapshot is not None:
                    await _performed(chat_fake, chat_fake.assert_order_independent(snapshot))
                if not self._is_alone:
                    await _performed(chat_fake, chat_fake.settle())
                    Inside(chat_fake).require_accepted()

        @wraps(scenario)
        def at_once(chat_fake: ChatFake) -> None:
            run_at_once(scenario(chat_fake))

        body = scenario if self._is_async else at_once
        tries = not CRASHING.isdisjoint(kinds)
        points = self._tests.crash_points if tries else ()
        crash_points, errors = checked_points(points, tries=tries)
        depth = 1 if kinds else 0
        given = _item_of(self._tests.only, self._name)
        only = None if given is None else parse_deviations(given)
        scope = Scope(
            kinds,
            depth=depth,
            only=only,
            crash_points=crash_points,
            errors=errors,
            all_kinds=True,
            stop_at_first="unknown_value" not in kinds,  # of these, name each
            runs_again=self._name == _FIRST,  # is its app a new one?
        )
        code: CodeType = self._own.__code__
        is_own = type(self._tests).scenario is not WebhookTests.scenario
        current().follow(code, is_called=is_own)
        try:
            exploration = self._explorer._explore(body, scope, Row(self._name, self._as_written))
            if self._loop is not None:
                self._loop.runner.run(exploration._explore())
        except Exception as error:
            if self._explorer.explorations[-1]._failed_as_written and not self._is_through:
                self._skip_if_failed(_FIRST)
            if isinstance(error, SnapshotError):
                self._skip_if_failed(_CHANGE)
            if not users_lines(frame for frame, _ in traceback.walk_tb(error.__traceback__)):
                line = Line(code.co_filename, code.co_firstlineno)
                raise raised_at(error.with_traceback(None), line) from error.__cause__
            raise
        if compares and not self._has_snapshot:
            pytest.skip(_NO_SNAPSHOT)
        return exploration

    def _skip_if_failed(self, name: str) -> None:
        """Skip this test if another one has failed, which says why."""
        if self._name != name and _key_of(self._item, name) in _failed_in(self._item.session):
            pytest.skip(f"{name} fails")

    @property
    def _own(self) -> Any:
        """The user's own function, at whose lines verbs are reported."""
        tests = type(self._tests)
        is_own = tests.scenario is not WebhookTests.scenario
        function = inspect.unwrap(tests.scenario if is_own else tests.connect)
        return function if inspect.isfunction(function) else WebhookTests.connect

    # A world

    def _check(self, fake: ChatFake, snapshot: Snapshot | None) -> None:
        inside = Inside(fake)
        if not inside.connected:
            raise ChatFakeError(
                "connect() has connected no app: call chat_fake.webhooks.connect(...) in it"
            )
        for endpoint in inside.connected:
            endpoint.raise_exceptions = endpoint.raise_exceptions and self._raises
            inside.never_disable(endpoint)  # a fault of the tests is no failure of the app's
        self._has_snapshot = snapshot is not None
        if self._has_snapshot:
            check_snapshot(snapshot)
        self._awaits_snapshot = inspect.iscoroutinefunction(snapshot)

    async def _check_before(self, snapshot: Snapshot | None, fake: ChatFake) -> None:
        """Refuse an app that remembers an earlier world: it would hide what is looked for."""
        if snapshot is None:
            return
        value = await Inside(fake).taken(snapshot)
        if not self._was_played:
            self._before = value
        elif not len(fake.events) and self._before != value:  # else connect() has sent something
            if cited(self._before) == cited(value):
                raise SnapshotError(
                    f"snapshot: expected values that are equal in each world, got another "
                    f"{cited(value)}: is its class made in connect()? Return plain values"
                )
            raise ChatFakeError(
                f"connect(): expected a new app in each world, got one that remembers an earlier "
                f"world: the snapshot was {cited(self._before)} at first, and is {cited(value)} "
                f"now. Make the app inside connect(), and empty its database there"
            )

    async def _check_change(self, snapshot: Snapshot, fake: ChatFake) -> None:
        """Expect that the snapshot shows what has happened."""
        value = await Inside(fake).taken(snapshot)
        if value != self._before:
            return
        self._skip_if_failed(_CHANGE)
        raise AssertionError(
            f"the snapshot shows nothing of what has happened: before and after the scenario it is "
            f"{cited(value)}\n"
            f"If the app knows only messages that it has sent, let it send them in "
            f"scenario(self, chat_fake). If it answers people, write "
            f"chat_fake.recipient('+1').writes('Hello') there."
        )

    async def _play(self, fake: ChatFake, snapshot: Snapshot | None) -> None:
        """Play the scenario, look between its steps, and expect that all events were taken."""
        inside = Inside(fake)
        observer, look = inside.observer, None
        baseline = observer.baseline if isinstance(observer, Recorder) else Baseline()
        if snapshot is not None:
            look = partial(baseline.look, snapshot=snapshot, inside=inside)
        await _played(self._tests.scenario(fake), fake, baseline.until, look)
        if not self._was_played:  # as written
            if not len(fake.events):
                raise ChatFakeError("scenario(): expected events, got none: send a message in it")
            if not inside.has_attempted:
                types = listed(dict.fromkeys(event.type for event in fake.events))
                raise ChatFakeError(
                    f"connect(): expected an endpoint that listens for {types}, the events of the "
                    f"scenario, got none: give connect(events=) their types"
                )
            inside.require_accepted()
            inside.check()
        self._was_played = True

    # The test to paste

    def _as_written(self, baseline: Baseline) -> Written:
        """Write connect(), the scenario, and a comparison of the snapshot."""
        redelivers, self._raises, self._is_alone = not self._raises, True, True
        self._ending = self._ending if redelivers else None
        connect, imports, names = self._tests.connect, list[str](), self._own.__globals__
        wait, is_async = "await " * self._is_async, inspect.isasyncgenfunction(connect)
        given = ", ".join(["chat_fake", *(f"{name}={name}" for name in self._fixtures)])
        steps = f", steps={baseline.until}" * bool(baseline.until)
        lines = [f"{wait}self.play(chat_fake{steps})"]
        if redelivers:  # what was refused, as the ending of the test does
            lines += [
                "for attempt in list(chat_fake.webhooks.attempts):",
                f"    attempt.ok or {wait}chat_fake.webhooks.redeliver(attempt.event)",
            ]
        if self._has_snapshot and baseline.compares:
            expected = as_code(baseline.values[0], names, imports)
            if not expected:
                raise NoTestError("the snapshot has values that can't be written as code")
            taken_here = f"{'await ' * self._awaits_snapshot}snapshot()"
            lines.append(f"assert {taken_here} == {expected}  # as written; is it right?")
        if is_async or inspect.isgeneratorfunction(connect):
            opened = f"with self.connected({given}) as snapshot:"
            lines = ["async " * is_async + opened, *(f"    {line}" for line in lines)]
        else:
            waits = "await " * inspect.iscoroutinefunction(connect)
            lines.insert(0, f"snapshot = {waits}self.connect({given})")
        return Written(lines, self._is_async, names, fixtures=[*self._fixtures], imports=imports)


class _Connected:
    """An app that is connected for a block.

    Args:
        made: What ``connect()`` has returned: the snapshot, a generator, or an awaitable.
    """

    def __init__(self, made: Any) -> None:
        self._made = made

    async def __aenter__(self) -> Any:
        snapshot = await _next_of(self._made)
        if snapshot is _END:
            raise ChatFakeError("connect(): expected a yield of the snapshot, got none")
        return snapshot

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            await _end(self._made)
        except Exception as later:
            if error is None:
                raise
            error.add_note(f"The clean-up of connect() failed, too: {later!r}")

    def __enter__(self) -> Any:
        return run_at_once(self.__aenter__())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        run_at_once(self.__aexit__(kind, error, trace))


class _Loop:
    """The loop of tests whose ``connect()`` or ``scenario()`` is async."""

    def __init__(self) -> None:
        self.runner: asyncio.Runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)

    def close(self) -> None:
        self.runner.close()


def note_result(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Note whether a test has failed that others name. If it is run again, its last run counts."""
    name = getattr(item, "originalname", item.name)
    if report.when != "call" or name not in {_FIRST, _CHANGE}:
        return
    failed, key = _failed_in(item.session), _key_of(item, name)
    failed.discard(key)
    if report.failed and call.excinfo is not None:  # and not for want of an expected failure
        failed.add(key)


def _failed_in(session: pytest.Session) -> set[tuple[object, str, str]]:
    return session.stash.setdefault(_failed_key, set())


def _key_of(item: pytest.Item, name: str) -> tuple[object, str, str]:
    """Return what tells a test of a class: its node, the parameters' ids, the test's own name."""
    ids = item.name.removeprefix(getattr(item, "originalname", item.name))
    return item.parent, ids, name


def _item_of(mapping: Any, name: str) -> Any:
    """Return an item, or None; what has none is refused later, by a test."""
    return mapping.get(name) if hasattr(mapping, "get") else None


def _fixtures_of(tests: type[WebhookTests]) -> list[str]:
    """Return the names of the fixtures that ``connect()`` asks for."""
    connect: Any = tests.connect  # not checked yet
    if not callable(connect):
        return []
    others = list(inspect.signature(connect).parameters.values())[2:]
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [
        parameter.name
        for parameter in others
        if parameter.kind not in variable and parameter.default is parameter.empty
    ]


def _check_class(tests: type[WebhookTests]) -> None:
    """Refuse what a class has written otherwise than its tests use it."""
    name = tests.__name__
    for method, fixtures, hint in (
        ("connect", _fixtures_of(tests), "fixtures may follow"),
        ("scenario", [], "fixtures are parameters of connect()"),
    ):
        try:
            signature = inspect.signature(getattr(tests, method))
            signature.bind(tests, "a fake", **dict.fromkeys(fixtures))
        except TypeError as error:
            raise TypeError(
                f"{name}: expected {method}(self, chat_fake); {hint}; got: {error}"
            ) from None
    for test, reason in check_mapping(tests.expected_failures, f"{name}.expected_failures").items():
        check_str(reason, f"{name}.expected_failures[{cited(test)}]")
    known = {test for test in vars(WebhookTests) if test.startswith("test_")}
    left_out = {n for n, value in vars(tests).items() if n.startswith("test_") and value is None}
    for what, names in (
        ("expected_failures", {*tests.expected_failures}),
        ("only", {*check_mapping(tests.only, f"{name}.only")}),
        ("a test that is None", left_out),
    ):
        if unknown := names - known:
            raise ValueError(
                f"{name}: {what}: expected one of {sorted(known)}, got {cited(min(unknown))}"
            )


async def _next_of(made: Any) -> Any:
    """Return what connect() has returned, or what it yields next."""
    if inspect.isgenerator(made):
        return next(made, _END)
    if inspect.isasyncgen(made):
        return await anext(made, _END)
    return await made if inspect.isawaitable(made) else made


async def _end(made: Any) -> None:
    """Let connect() go on behind its yield, if it has one."""
    is_generator = inspect.isgenerator(made) or inspect.isasyncgen(made)
    if is_generator and await _next_of(made) is not _END:
        raise ChatFakeError("connect(): expected one yield, got another one behind it")


async def _played(
    steps: Any,
    fake: ChatFake,
    last: int = 0,
    look: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    """Play a scenario, as far as a step if there is a last one, and look after each."""
    if inspect.isgenerator(steps):
        with suppress(StopIteration), closing(steps):
            step: Any = next(steps)
            for number in count(1):
                try:
                    is_awaited = Inside(fake).is_async and inspect.isawaitable(step)
                    result: Any = await step if is_awaited else step
                except Exception as error:  # the scenario may expect it
                    step = steps.throw(error)
                else:
                    if look is not None:
                        await look(number)
                    if number == last:
                        break
                    step = steps.send(result)
    elif inspect.isasyncgen(steps):
        raise TypeError(
            "scenario(): expected no yield in an async def: await each step in place of it"
        )
    elif inspect.isawaitable(steps):
        await steps
    await _settled(fake)


async def _settled(fake: ChatFake) -> None:
    """Settle until no retry is left: what an app has refused at first, it may take then."""
    await _performed(fake, fake.settle())
    while any(due.kind == "retry" for due in fake.clock.agenda):
        await _performed(fake, fake.clock.advance_to_next())


async def _performed(fake: ChatFake, step: object) -> None:
    await Inside(fake).performed(step)
