"""How the ready-made tests of ``WebhookTests`` and ``SendTests`` explore, as far as they agree."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from types import CodeType
from typing import Any, ClassVar, Final, TypeAlias

import pytest

from ..base.calling_line import Line, users_lines
from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import ChatFakeError
from ..base.session_scope import of_the_session
from ..base.tracebacks import raised_at
from ..base.views import counted
from ..fake.fake import ChatFake
from ..fake.snapshots import Snapshot, check_snapshot
from ..transport.client.django_bridge import has_waiting_callbacks
from .baseline import Comparison
from .books import messages_as_code
from .cards import Remarks, remarks_key
from .deviations import has_points, parse_deviations
from .exploration import Exploration
from .explorer import Explorer, checked_points
from .failure_report import ReadyMadeTest
from .new_apps import NewApps
from .printed_test import NoTestError, Written, as_code
from .ready_made import Connected, Parameters, ReadyMade, check_class, fixtures_of, item_of
from .scene import Scene
from .search import CheckedOptions

#: pytest-django's fixture that runs what waits for a commit.
_CAPTURES: Final = "django_capture_on_commit_callbacks"

_NEVER_COMMITTED: Final = (
    "transaction.on_commit() callbacks never ran: mark the class with django_db(transaction=True)"
)

#: A test's work in a world.
Ending: TypeAlias = Callable[[Scene], Awaitable[None]]


class ReadyMadeRun:
    """The explorations of one ready-made test.

    Args:
        tests: The user's object.
        explorer: The test's ``chat_explore``.
        request: pytest's ``request`` of the test.
        own: The name of the user's method whose lines are reported for verbs.
        methods: The user's methods. If one of them is async, so are the explorations.

    Attributes:
        parameters: The methods that a user may write.
    """

    parameters: ClassVar[Parameters]

    def __init__(
        self,
        tests: ReadyMade,
        explorer: Explorer,
        request: pytest.FixtureRequest,
        own: str,
        methods: Sequence[Any],
    ) -> None:
        self._tests = tests
        self._explorer = explorer
        self._own = _python_function(getattr(type(tests), own))
        self._item: pytest.Item = request.node
        self._remarks = request.node.stash[remarks_key] = Remarks()
        self._name: str = request.function.__name__
        self._fixtures = {name: request.getfixturevalue(name) for name in fixtures_of(type(tests))}
        self._loop = loop_for(request, methods)
        self._is_async = self._loop is not None
        self._new_apps = NewApps(self._item)
        self._taken = ""  # the code that takes the snapshot; empty: there is none
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
        check_class(type(self._tests), self.parameters)
        return Connected(self._tests.connect(fake, **self._fixtures))

    def _scene(self, fake: ChatFake, snapshot: Snapshot | None) -> Scene:
        self._taken = ""
        if snapshot is not None:
            check_snapshot(snapshot)
            self._taken = f"{waits_for(snapshot)}snapshot()"
        return Scene(fake, snapshot)

    async def _expected(self, fake: ChatFake) -> Any:
        expected = await self._await_method("expected()", self._tests.expected(fake))
        if expected is None:
            raise ChatFakeError(
                "expected(): expected what the snapshot has to be, got None; did you forget "
                "`return`?"
            )
        return expected

    async def _await_method(self, method: str, made: Any) -> Any:
        # The result of a method of the user's that may be async if the others are.
        if inspect.isgenerator(made) or inspect.isasyncgen(made):
            raise TypeError(f"{method}: expected a function without yield")
        if inspect.iscoroutine(made) and not self._is_async:
            made.close()  # or Python warns that it was never awaited
            raise TypeError(
                f"{method}: expected a plain function, as connect() and scenario() are, got an "
                f"async def"
            )
        return await made if inspect.iscoroutine(made) else made

    def _pasted(self, comparison: Comparison, play: str, *, compares: bool) -> Written:
        # The test to paste: it connects the app, plays, and compares what differed.
        difference, imports = comparison.difference, list[str]()
        if (lines := difference.code) is not None:
            imports += ["from datetime import timedelta"] * ("timedelta" in str(lines))
        else:
            lines = [play, *(self._assertions(comparison, imports) if compares else [])]
        connect = self._tests.connect
        is_async = inspect.isasyncgenfunction(connect)
        given = ", ".join(["chat_fake", *(f"{name}={name}" for name in self._fixtures)])
        if is_async or inspect.isgeneratorfunction(connect):
            opened = f"with self.connected({given}) as snapshot:"
            lines = ["async " * is_async + opened, *(f"    {line}" for line in lines)]
        else:
            lines = [f"snapshot = {waits_for(connect)}self.connect({given})", *lines]
        names = self._own.__globals__
        return Written(lines, self._is_async, names, fixtures=[*self._fixtures], imports=imports)

    def _assertions(self, comparison: Comparison, imports: list[str]) -> list[str]:
        difference = comparison.difference
        if difference.basis == "messages":
            return messages_as_code(difference.messages)
        if difference.basis == "expected":
            waits = waits_for(self._tests.expected)
            return [f"assert {self._taken} == {waits}self.expected(chat_fake)"]
        expected = as_code(comparison.baseline.values[0], self._own.__globals__, imports)
        if not expected:
            raise NoTestError("the snapshot has values that can't be written as code")
        return [f"assert {self._taken} == {expected}  # as written; is it right?"]


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


def _python_function(function: Callable[..., Any]) -> Any:
    # Below its decorators; ours if it is no Python function.
    found = inspect.unwrap(function)
    return found if inspect.isfunction(found) else ReadyMade.connect


def waits_for(function: object) -> str:
    """Return the code before a call of a function: ``await``, if the function is async."""
    return "await " * inspect.iscoroutinefunction(function)
