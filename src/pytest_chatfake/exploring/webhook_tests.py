"""``WebhookTests``: ready-made tests of an app that receives the service's webhooks."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import textwrap
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import CodeType
from typing import Any, ClassVar, Final, TypeAlias

import pytest

from ..base.arguments import cited
from ..base.calling_line import Line, users_lines, watch
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError
from ..base.tracebacks import raised_at
from ..engine.engine import Engine
from ..fake.fake import ChatFake
from ..fake.snapshots import Snapshot, check_snapshot, taken
from .exploration import Exploration, Scope
from .explorer import Explorer, checked_points
from .printed_test import Written

#: The first test: if the scenario itself fails, it says so, and the others are skipped.
_FIRST: Final = "test_all_events_are_taken"

_NO_SNAPSHOT: Final = "all were answered 2xx; whether rightly, only a snapshot can tell"

_PERSON: Final = "+4915550003"

#: What a test does after the scenario; it takes the fake, and the snapshot if there is one.
_Ending: TypeAlias = Callable[[ChatFake, Snapshot | None], Awaitable[None]]


class WebhookTests:
    """Twelve tests of an app that receives webhooks: inherit it, and write ``connect()``.

    Each test explores: it plays :meth:`scenario` in worlds with a fake and a clock of their own,
    each with an app of its own from :meth:`connect`. A test whose worlds have nothing to try is
    skipped, and says why. At the end of the run each class has a card, a line for each test.

    ``test_... = None`` leaves a test out.

    Attributes:
        crash_points: Functions at whose calls the app may crash, as ``chat_explore()`` takes them;
            such as ``[Session.commit]``.
        expected_failures: By the name of a test, why it fails for now. If it passes, it fails.
    """

    __test__: ClassVar[bool] = False
    crash_points: ClassVar[Iterable[Callable[..., Any] | str]] = ()
    expected_failures: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = vars(cls).get("__test__", True)
        if fixtures := _fixtures_of(cls):  # declared, so that these and classes may have parameters
            pytest.mark.usefixtures(*fixtures)(cls)
        known = {name for name in vars(WebhookTests) if name.startswith("test_")}
        left_out = {n for n, value in vars(cls).items() if n.startswith("test_") and value is None}
        for what, names in (
            ("expected_failures", {*cls.expected_failures}),
            ("a test that is None", left_out),
        ):
            if unknown := names - known:
                raise ValueError(
                    f"{cls.__name__}: {what}: expected one of {sorted(known)}, "
                    f"got {cited(min(unknown))}"
                )

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

    # The tests, in the order of the card

    def test_all_events_are_taken(
        self, chat_explore: Explorer, request: pytest.FixtureRequest
    ) -> None:
        """Respond with 2xx to every event of the scenario."""
        _Run(self, chat_explore, request).explore()

    def test_snapshot_changes(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Show in the snapshot what has happened: else no test can see a mistake."""
        _Run(self, chat_explore, request).explore(ending=_expect_nothing, expects_change=True)

    def test_duplicates(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Take an event that comes twice, or again because the response was lost."""
        _Run(self, chat_explore, request).compare("duplicate", "lose_response")

    def test_duplicates_under_another_id(
        self, chat_explore: Explorer, request: pytest.FixtureRequest
    ) -> None:
        """Take an event that comes twice, the second time under another id."""
        _Run(self, chat_explore, request).compare("duplicate_new_id")

    def test_duplicates_days_later(
        self, chat_explore: Explorer, request: pytest.FixtureRequest
    ) -> None:
        """Take all events again, two days later."""

        async def again(fake: ChatFake, snapshot: Snapshot | None) -> None:
            await _performed(fake, fake.clock.advance(days=2))
            await _performed(fake, fake.assert_idempotent(snapshot or list))
            if snapshot is None:
                pytest.skip(_NO_SNAPSHOT)

        _Run(self, chat_explore, request).explore(ending=again)

    def test_duplicates_at_once(
        self, chat_explore: Explorer, request: pytest.FixtureRequest
    ) -> None:
        """Take an event twice at the same time; one of the two may be refused, and comes again."""

        async def retry(fake: ChatFake, _: Snapshot | None) -> None:
            refused = [one.event for one in fake.webhooks.attempts if not one.ok]
            for event in dict.fromkeys(refused):
                fake.webhooks.redeliver(event)
            await _performed(fake, fake.settle())

        run = _Run(self, chat_explore, request, raise_exceptions=False)
        run.compare("duplicate_at_once", ending=retry)

    def test_another_order(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Take events that are late, or that come again after they were refused on the way."""
        _Run(self, chat_explore, request).compare("reorder", "refuse")

    def test_webhooks_before_the_response(
        self, chat_explore: Explorer, request: pytest.FixtureRequest
    ) -> None:
        """Take the webhooks of a send call before its response."""
        _Run(self, chat_explore, request).compare("webhooks_first")

    def test_a_crash(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Survive a crash in the middle of a webhook, as in a deployment."""
        _Run(self, chat_explore, request).compare("crash")

    def test_a_later_version(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Ignore fields and types of events that nobody knows yet."""

        async def unknown(fake: ChatFake, _: Snapshot | None) -> None:
            kind = _type_of(fake, "added_later")
            if any(one.listens_for(kind) for one in fake._engine.outbox.endpoints):
                await _performed(fake, fake.webhooks.emit_event(kind))
                await _performed(fake, fake.settle())

        _Run(self, chat_explore, request).compare("evolve", ending=unknown)

    def test_people_write(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Take what people write."""

        async def write(fake: ChatFake, _: Snapshot | None) -> None:
            kind = _type_of(fake, "inbound_message.received")
            if not any(one.listens_for(kind) for one in fake._engine.outbox.endpoints):
                pytest.skip(f'the endpoint does not listen for {kind}: events="*"')
            person = fake.recipient(_PERSON)
            await _performed(fake, person.writes("STOP"))
            await _performed(fake, person.sends("image", {"link": "https://example.test/1"}))
            await _performed(fake, fake.settle())

        _Run(self, chat_explore, request).explore(ending=write)

    def test_forgeries(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> None:
        """Refuse what the service has not signed."""

        async def forge(fake: ChatFake, snapshot: Snapshot | None) -> None:
            if not any(one.signer for one in fake._engine.outbox.endpoints):
                pytest.skip("not signed: connect(signer=...)")
            await _performed(fake, fake.webhooks.assert_rejects_forgeries(snapshot))

        _Run(self, chat_explore, request).explore(ending=forge)


async def _expect_nothing(fake: ChatFake, snapshot: Snapshot | None) -> None:
    """End a test that has nothing to do after the scenario."""


class _Run:
    """One test of the class: its exploration.

    Args:
        tests: The class's instance.
        explorer: The fixture.
        request: The test's.
        raise_exceptions: Whether an exception of the app in process is raised; else it is a 500.
    """

    def __init__(
        self,
        tests: WebhookTests,
        explorer: Explorer,
        request: pytest.FixtureRequest,
        *,
        raise_exceptions: bool = True,
    ) -> None:
        self._tests = tests
        self._explorer = explorer
        self._request = request
        self._raises = raise_exceptions
        names = _fixtures_of(type(tests))
        self._fixtures = {name: request.getfixturevalue(name) for name in names}
        self._before: list[Any] = []  # the snapshot after connect(), in the first world
        self._has_snapshot = True
        self._was_played = False  # the scenario, in the first world
        self._is_through = False  # the same, in the world that runs
        functions = (tests.connect, tests.scenario)
        self._is_async = any(
            inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in functions
        )
        if reason := tests.expected_failures.get(request.function.__name__):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    def compare(self, *kinds: str, ending: _Ending = _expect_nothing) -> None:
        """Explore deviations, and expect the snapshot of the world as written in each world."""
        exploration = self.explore(*kinds, ending=ending)
        if reason := exploration._why_nothing:
            pytest.skip(reason)
        if not self._has_snapshot:
            pytest.skip(_NO_SNAPSHOT)

    def explore(
        self, *kinds: str, ending: _Ending = _expect_nothing, expects_change: bool = False
    ) -> Exploration:
        """Play the scenario in the world as written, and in those with one deviation.

        Args:
            *kinds: Those of the deviations; none: the world as written only.
            ending: What the test does after the scenario.
            expects_change: Whether the snapshot has to show the scenario.
        """

        async def live(fake: ChatFake) -> None:
            self._is_through = False
            async with self._connected(fake) as snapshot:
                await self._check_before(snapshot, fake._engine)
                await self._play(fake)
                self._is_through = True
                await ending(fake, snapshot)
                if kinds and snapshot is not None:
                    await _performed(fake, fake.assert_order_independent(snapshot))
                if expects_change:
                    await self._check_change(snapshot, fake._engine)

        async def awaited(chat_fake: ChatFake) -> None:
            await live(chat_fake)

        def plain(chat_fake: ChatFake) -> None:
            run_at_once(live(chat_fake))

        tries = "crash" in kinds
        points = checked_points(self._tests.crash_points if tries else (), tries=tries)
        depth = 1 if kinds else 0
        scope = Scope(kinds, depth=depth, crash_points=points, all_kinds=True, stop_at_first=True)
        self._watch()
        body = awaited if self._is_async else plain
        try:
            exploration = self._explorer._explore(body, scope, self._written)
            if self._is_async:
                with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
                    runner.run(_finished(exploration))
        except Exception as error:
            is_of_the_first = self._explorer.explorations[-1]._failed_as_written
            if is_of_the_first and not self._is_through and not self._is_first:
                pytest.skip(f"{_FIRST} fails")
            if not users_lines(frame for frame, _ in traceback.walk_tb(error.__traceback__)):
                line = Line(self._code.co_filename, self._code.co_firstlineno)
                raise raised_at(error.with_traceback(None), line) from error.__cause__
            raise
        return exploration

    @property
    def _is_first(self) -> bool:
        return bool(self._request.function.__name__ == _FIRST)

    @property
    def _code(self) -> CodeType:
        """The code at whose lines verbs are reported."""
        scenario = type(self._tests).scenario
        function = type(self._tests).connect if scenario is WebhookTests.scenario else scenario
        code: CodeType = inspect.unwrap(function).__code__
        return code

    def _watch(self) -> None:
        """Report verbs at the lines of the scenario; those of our own at the line of connect()."""
        watch(self._code, called=type(self._tests).scenario is not WebhookTests.scenario)

    # A world

    @asynccontextmanager
    async def _connected(self, fake: ChatFake) -> AsyncGenerator[Snapshot | None]:
        """Connect the app for a block; the snapshot is checked."""
        connect, given = self._tests.connect, self._fixtures
        if inspect.isasyncgenfunction(connect):
            async with asynccontextmanager(connect)(fake, **given) as snapshot:
                yield self._checked(fake, snapshot)
        elif inspect.isgeneratorfunction(connect):
            with contextmanager(connect)(fake, **given) as snapshot:
                yield self._checked(fake, snapshot)
        else:
            snapshot = connect(fake, **given)
            if inspect.isawaitable(snapshot):
                snapshot = await snapshot
            yield self._checked(fake, snapshot)

    def _checked(self, fake: ChatFake, snapshot: Any) -> Snapshot | None:
        if not len(fake._engine.outbox.endpoints):
            raise ChatFakeError(
                "connect() has connected no app: call chat_fake.webhooks.connect(...) in it"
            )
        for endpoint in fake._engine.outbox.endpoints:
            endpoint.raise_exceptions = endpoint.raise_exceptions and self._raises
        self._has_snapshot = snapshot is not None
        if self._has_snapshot:
            check_snapshot(snapshot)
        found: Snapshot | None = snapshot
        return found

    async def _check_before(self, snapshot: Snapshot | None, engine: Engine) -> None:
        """Refuse an app that remembers an earlier world: it would hide what is looked for."""
        if snapshot is None:
            return
        value = await taken(snapshot, engine)
        if not self._before:
            self._before.append(value)
        elif self._before[0] != value:
            raise ChatFakeError(
                f"connect(): expected a new app in each world, got one that remembers an earlier "
                f"world: the snapshot was {cited(self._before[0])} at first, and is {cited(value)} "
                f"now. Make the app inside connect(), and empty its database there"
            )

    async def _play(self, fake: ChatFake) -> None:
        """Play the scenario, and expect that all of its events were taken."""
        steps: Any = self._tests.scenario(fake)
        if inspect.isgenerator(steps):
            result: Any = None
            while True:
                try:
                    step: Any = steps.send(result)
                except StopIteration:
                    break
                result = await step if self._is_async and inspect.isawaitable(step) else step
        elif inspect.isasyncgen(steps):
            raise TypeError(
                "scenario(): expected no yield in an async def: await each step in place of it"
            )
        elif inspect.isawaitable(steps):
            await steps
        await _performed(fake, fake.settle())
        if not self._was_played:  # as written
            if not len(fake.events):
                raise ChatFakeError("scenario(): expected events, got none: send a message in it")
            fake._checks.run()
        self._was_played = True

    async def _check_change(self, snapshot: Snapshot | None, engine: Engine) -> None:
        """Expect that the snapshot shows what has happened."""
        if snapshot is None:
            pytest.skip("connect() returns no snapshot: only responses are checked")
        value = await taken(snapshot, engine)
        if value == self._before[0]:
            raise AssertionError(
                f"the snapshot shows nothing of what has happened: before and after the scenario "
                f"it is {cited(value)}\n"
                f"If the app knows only messages that it has sent, let it send them in "
                f"scenario(self, chat_fake). If it answers people, write "
                f"chat_fake.recipient('+1').writes('Hello') there."
            )

    # The test to paste

    def _written(self) -> Written:
        """The scenario between connect() and a comparison of the snapshot, as one function."""
        scenario = inspect.unwrap(type(self._tests).scenario)
        lines = _steps(scenario, "await " * self._is_async)
        given = "".join(f", {name}={name}" for name in self._fixtures)
        connect = self._tests.connect
        call = f"self.connect({_parameter(scenario)}{given})"
        if inspect.isasyncgenfunction(connect):
            call = f"await anext({call})"
        elif inspect.isgeneratorfunction(connect):
            call = f"next({call})"
        elif inspect.iscoroutinefunction(connect):
            call = f"await {call}"
        wait = "await " * self._is_async
        compare = f"{wait}{_parameter(scenario)}.assert_order_independent(snapshot)"
        lines = [f"snapshot = {call}" if self._has_snapshot else call, *lines]
        if self._has_snapshot:
            lines.append(compare)
        head = f"{'async ' * self._is_async}def scenario({_parameter(scenario)}):"
        module = type(self._tests).__module__
        names = scenario.__globals__
        if scenario is WebhookTests.scenario:
            names = vars(sys.modules[module])
        return Written(
            "\n".join([head, *(f"    {line}".rstrip() for line in lines)]),
            names,
            inspect.getfile(type(self._tests)),
            {"self": self._tests, **self._fixtures},
            self._fixtures,
        )


def _fixtures_of(tests: type[WebhookTests]) -> list[str]:
    """Return the names of the fixtures that ``connect()`` asks for."""
    _, _, *others = inspect.signature(tests.connect).parameters.values()
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [parameter.name for parameter in others if parameter.kind not in variable]


def _parameter(scenario: Callable[..., Any]) -> str:
    """Return what a scenario calls its fake."""
    return list(inspect.signature(scenario).parameters)[1]


def _steps(scenario: Callable[..., Any], wait: str) -> list[str]:
    """Return the lines of a scenario, with `await` in place of `yield`, or with nothing."""
    source = textwrap.dedent(inspect.getsource(scenario))
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    lines = source.splitlines()
    for node in ast.walk(definition):
        if isinstance(node, ast.Yield):
            line, start = lines[node.lineno - 1], node.col_offset
            after = line[start:].removeprefix("yield").lstrip()
            lines[node.lineno - 1] = f"{line[:start]}{wait}{after}"
    body = definition.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    written = lines[body[0].lineno - 1 : definition.end_lineno] if body else []
    return textwrap.dedent("\n".join(written)).splitlines()


def _type_of(fake: ChatFake, name: str) -> str:
    """Return a type of events of the service's channel."""
    channel = fake._engine.settings.naming.event_type.partition(".")[0]
    return f"{channel}.{name}"


async def _finished(exploration: Exploration) -> None:
    await exploration


async def _performed(fake: ChatFake, step: object) -> None:
    await fake._engine.performed(step)
