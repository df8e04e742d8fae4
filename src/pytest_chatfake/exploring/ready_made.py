"""What ``WebhookTests`` and ``SendTests`` share.

:class:`ReadyMade` is their base class. pytest collects a user's subclass of theirs. For each test,
a :class:`Run` explores the user's methods, and says in the card what was tried.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from types import CodeType
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

import pytest

from ..base.arguments import check_mapping, check_str, cited
from ..base.calling_line import Line, users_lines
from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import ChatFakeError
from ..base.session_scope import of_the_session
from ..base.tracebacks import raised_at
from ..base.views import counted
from ..fake.fake import ChatFake
from ..fake.snapshots import Snapshot, SnapshotError, check_snapshot
from ..transport.client.django_bridge import has_waiting_callbacks
from .baseline import Comparison
from .cards import Remarks, remarks_key
from .deviations import has_points, parse_deviations
from .exploration import Exploration, shared_folder
from .explorer import CrashPoints, Explorer, checked_points
from .failure_report import ReadyMadeTest
from .late_threads import Work, about_late
from .printed_test import NoTestError, Written, as_code
from .scene import Scene
from .search import CheckedOptions
from .send_judge import messages_as_code

#: pytest-django's fixture that runs what waits for a commit.
_CAPTURES: Final = "django_capture_on_commit_callbacks"

_NEVER_COMMITTED: Final = (
    "transaction.on_commit() callbacks never ran: mark the class with django_db(transaction=True)"
)

#: A test's work in a world.
Ending: TypeAlias = Callable[[Scene], Awaitable[None]]

#: A user's methods, each with its parameters and a hint.
Parameters: TypeAlias = Sequence[tuple[str, Sequence[str], str]]

#: Returned at the end of a generator.
_END: Final = object()

#: A snapshot that was not taken yet.
_UNKNOWN: Final = object()


class Connected:
    """Connects an app for a block, given the result of ``connect()``."""

    def __init__(self, made: Any) -> None:
        self._made = made

    async def __aenter__(self) -> Any:
        snapshot = await _next_of(self._made)
        if snapshot is _END:
            raise ChatFakeError("connect(): expected it to yield the snapshot, got no yield")
        return snapshot

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            await _end(self._made)
        except Exception as later:
            if error is None:
                raise
            error.add_note(f"The clean-up of connect() failed as well: {later!r}")

    def __enter__(self) -> Any:
        return run_at_once(self.__aenter__())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        run_at_once(self.__aexit__(kind, error, trace))


class ReadyMade:
    """The base class of ``WebhookTests`` and ``SendTests``."""

    __test__: ClassVar[bool] = False
    crash_points: ClassVar[CrashPoints] = ()
    expected_failures: ClassVar[Mapping[str, str]] = {}
    only: ClassVar[Mapping[str, Iterable[str]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let pytest collect a user's class with a ``connect()``, and find its fixtures."""
        super().__init_subclass__(**kwargs)
        ours = ReadyMade.__subclasses__()
        if cls in ours:
            return
        is_base = any(cls.connect is base.connect for base in ours)
        is_misspelt = bool(get_close_matches("connect", vars(cls)))
        cls.__test__ = vars(cls).get("__test__", is_misspelt or not is_base)
        if fixtures := fixtures_of(cls):  # so that parametrized fixtures and classes work
            pytest.mark.usefixtures(*fixtures)(cls)

    def connect(self, chat_fake: ChatFake, *args: Any, **kwargs: Any) -> Any:
        """Connect a new app, and return its snapshot."""

    def expected(self, chat_fake: ChatFake) -> Any:
        """Return what the snapshot has to be."""

    def connected(self, chat_fake: ChatFake, **fixtures: Any) -> Connected:
        """Connect the app for a block: ``with self.connected(chat_fake) as snapshot:``.

        In an async test, write ``async with``. If :meth:`connect` yields, it continues at the end
        of the block, like a fixture, even if the block fails.
        """
        return Connected(self.connect(chat_fake, **fixtures))


Tests = TypeVar("Tests", bound=ReadyMade)


class Run(Generic[Tests]):
    """The explorations of one ready-made test.

    Args:
        tests: The user's object.
        explorer: The test's ``chat_explore``.
        request: pytest's ``request`` of the test.
        own: The user's function whose lines are reported for verbs.
        methods: The user's methods. If one of them is async, so are the explorations.

    Attributes:
        parameters: The methods that a user may write.
    """

    parameters: ClassVar[Parameters]

    def __init__(
        self,
        tests: Tests,
        explorer: Explorer,
        request: pytest.FixtureRequest,
        own: Any,
        methods: Sequence[Any],
    ) -> None:
        self._tests = tests
        self._explorer = explorer
        self._own = _python_function(own)
        self._item: pytest.Item = request.node
        self._remarks = request.node.stash[remarks_key] = Remarks()
        self._name: str = request.function.__name__
        self._fixtures = {name: request.getfixturevalue(name) for name in fixtures_of(type(tests))}
        self._loop = loop_for(request, methods)
        self._is_async = self._loop is not None
        self._before: Any = _UNKNOWN  # the snapshot after connect(), in the first world
        self._has_snapshot = self._awaits_snapshot = False
        self._earlier_threads: list[Work] = []
        if reason := item_of(tests.expected_failures, self._name):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    def note(self, text: str) -> None:
        """Let the card say something next to the test's verdict, such as what was not tried."""
        self._remarks.notes.append(text)

    def note_extent(self, extent: str) -> None:
        """Let the card say how much was tried, if the test passes."""
        self._remarks.extent = extent

    def _skip_if_by_chance(self, exploration: Exploration, advice: str = "") -> None:
        if sometimes := exploration._trials.sometimes:
            pytest.skip(f"by chance, because of threads: this {sometimes}{advice}")

    def _note_tried(self, exploration: Exploration) -> None:
        self.note_extent(counted(exploration._tried.deviating, "world"))
        self._remarks.notes += exploration._tried.untried

    def _scope(self, kinds: tuple[str, ...], *, may_be_only: bool = True) -> CheckedOptions:
        # All worlds with one of these deviations, or the only one that the user names.
        tries = has_points(kinds)
        points, errors = checked_points(self._tests.crash_points if tries else (), tries=tries)
        only = item_of(self._tests.only, self._name) if may_be_only else None
        return CheckedOptions(
            kinds,
            depth=1 if kinds else 0,
            only=None if only is None else parse_deviations(only),
            crash_points=points,
            errors=errors,
            all_kinds=True,
        )

    def _run_explorer(
        self,
        scenario: Callable[[ChatFake], Coroutine[Any, Any, None]],
        scope: CheckedOptions,
        row: ReadyMadeTest,
        *,
        is_called: bool = False,
    ) -> Exploration:
        # An error that has no line of the user's in its traceback gets that of the user's function.
        @wraps(scenario)
        def at_once(chat_fake: ChatFake) -> None:
            run_at_once(scenario(chat_fake))

        code: CodeType = self._own.__code__
        current().follow(code, is_called=is_called)
        try:
            body = scenario if self._is_async else at_once
            exploration = self._explorer._explore(body, scope, row)
            if self._loop is not None:
                self._loop.runner.run(exploration._explore())
        except Exception as error:
            if not users_lines(frame for frame, _ in traceback.walk_tb(error.__traceback__)):
                line = Line(code.co_filename, code.co_firstlineno)
                raise raised_at(error.with_traceback(None), line) from error.__cause__
            raise
        finally:
            if has_waiting_callbacks() and _CAPTURES not in getattr(self._item, "fixturenames", ()):
                self.note(_NEVER_COMMITTED)
        return exploration

    def _connected(self, fake: ChatFake) -> Connected:
        # Not connected(), which may be overridden.
        _check_class(type(self._tests), self.parameters)
        return Connected(self._tests.connect(fake, **self._fixtures))

    def _check_snapshot(self, snapshot: Snapshot | None) -> None:
        self._has_snapshot = snapshot is not None
        self._awaits_snapshot = inspect.iscoroutinefunction(snapshot)
        if self._has_snapshot:
            check_snapshot(snapshot)

    async def _require_new_app(self, scene: Scene) -> None:
        # An app that remembers an earlier world would hide bugs.
        if scene.snapshot is None:
            return
        value = await scene.inside.taken(scene.snapshot)
        self._earlier_threads += scene.seen.earlier_threads
        if self._before is _UNKNOWN:
            self._before = value
        elif not len(scene.fake.events) and self._before != value:  # connect() may send something
            if cited(self._before) == cited(value):
                raise SnapshotError(
                    f"snapshot: expected values that are equal in each world, got "
                    f"{cited(value)}, which can't be compared by value; return plain data"
                )
            if late := about_late(self._earlier_threads, "the clean-up in connect()"):
                raise ChatFakeError(
                    f"{late}. In one world, the snapshot was {cited(self._before)} after "
                    f"connect(), and in another, {cited(value)}"
                )
            raise ChatFakeError(
                f"connect(): expected a new app in each world, got one that remembers an earlier "
                f"world; the snapshot was {cited(self._before)} at first, and is {cited(value)} "
                f"now. Create the app inside connect(), and empty its database there"
                f"{shared_folder(self._item)}"
            )

    def _assertions(self, comparison: Comparison, imports: list[str]) -> list[str]:
        # The lines of the test to paste that compare what differed.
        baseline = comparison.baseline
        if comparison.basis == "messages":
            return messages_as_code(baseline.messages, quotes_ids=baseline.quotes_ids)
        taken = f"{'await ' * self._awaits_snapshot}snapshot()"
        if comparison.basis == "expected":
            waits = "await " * inspect.iscoroutinefunction(self._tests.expected)
            return [f"assert {taken} == {waits}self.expected(chat_fake)"]
        expected = as_code(baseline.values[0], self._own.__globals__, imports)
        if not expected:
            raise NoTestError("the snapshot has values that can't be written as code")
        return [f"assert {taken} == {expected}  # as written; is it right?"]

    def _pasted(self, lines: list[str], imports: list[str]) -> Written:
        # The test to paste: it connects the app, and goes on with these lines.
        connect = self._tests.connect
        is_async = inspect.isasyncgenfunction(connect)
        given = ", ".join(["chat_fake", *(f"{name}={name}" for name in self._fixtures)])
        if is_async or inspect.isgeneratorfunction(connect):
            opened = f"with self.connected({given}) as snapshot:"
            lines = ["async " * is_async + opened, *(f"    {line}" for line in lines)]
        else:
            waits = "await " * inspect.iscoroutinefunction(connect)
            lines = [f"snapshot = {waits}self.connect({given})", *lines]
        names = self._own.__globals__
        return Written(lines, self._is_async, names, fixtures=[*self._fixtures], imports=imports)


class Loop:
    """The loop of tests whose methods are async."""

    def __init__(self) -> None:
        self.runner: asyncio.Runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)

    def close(self) -> None:
        self.runner.close()


def loop_for(request: pytest.FixtureRequest, functions: Sequence[Any]) -> Loop | None:
    """Return the loop for a test with these functions; None if they are all plain."""
    if not any(
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        for function in functions
    ):
        return None
    loop: Loop | None = of_the_session(Loop)
    if loop is None:
        loop = Loop()
        request.addfinalizer(loop.close)
    return loop


def fixtures_of(tests: type[Any]) -> list[str]:
    """Return the fixtures that a class's ``connect()`` takes."""
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


def _check_class(tests: type[ReadyMade], methods: Sequence[tuple[str, Sequence[str], str]]) -> None:
    # Refuse a subclass whose methods or attributes don't fit.
    name = tests.__name__
    for method, given, hint in methods:
        fixtures = fixtures_of(tests) if method == "connect" else []
        try:
            signature = inspect.signature(getattr(tests, method))
            signature.bind(tests, *given, **dict.fromkeys(fixtures))
        except TypeError as error:
            expected = ", ".join(["self", *given])
            raise TypeError(
                f"{name}: expected {method}({expected}), got other parameters ({error}); {hint}"
            ) from None
    for what in ("expected_failures", "known_forgeries"):
        for key, reason in check_mapping(getattr(tests, what, {}), f"{name}.{what}").items():
            check_str(reason, f"{name}.{what}[{cited(key)}]")
    base = next(base for base in ReadyMade.__subclasses__() if issubclass(tests, base))
    known = {test for test in vars(base) if test.startswith("test_")}
    left_out = {n for n, value in vars(tests).items() if n.startswith("test_") and value is None}
    for what, names in (
        (f"{name}.expected_failures", {*tests.expected_failures}),
        (f"{name}.only", {*check_mapping(tests.only, f"{name}.only")}),
        (f"a test of {name} set to None", left_out),
    ):
        if unknown := names - known:
            raise ValueError(f"{what}: expected one of {sorted(known)}, got {cited(min(unknown))}")


def writes(tests: ReadyMade, method: str) -> bool:
    """Return whether a user's class has this method, and not only ours."""
    written = getattr(type(tests), method)
    return all(written is not getattr(base, method, None) for base in ReadyMade.__subclasses__())


def check_expected(expected: object) -> None:
    if expected is None:
        raise ChatFakeError(
            "expected(): expected what the snapshot has to be, got None; did you forget `return`?"
        )


def item_of(mapping: Any, name: str) -> Any:
    """Return a mapping's value; None for what isn't a mapping, which is refused later."""
    return mapping.get(name) if hasattr(mapping, "get") else None


def _python_function(function: Callable[..., Any]) -> Any:
    # Below its decorators; ours if it is no Python function.
    found = inspect.unwrap(function)
    return found if inspect.isfunction(found) else ReadyMade.connect


async def _next_of(made: Any) -> Any:
    # What connect() returned, or yields next.
    if inspect.isgenerator(made):
        return next(made, _END)
    if inspect.isasyncgen(made):
        return await anext(made, _END)
    return await made if inspect.isawaitable(made) else made


async def _end(made: Any) -> None:
    is_generator = inspect.isgenerator(made) or inspect.isasyncgen(made)
    if is_generator and await _next_of(made) is not _END:
        raise ChatFakeError("connect(): expected one yield, got a second one")
