"""``explore()`` and the ``chat_explore`` fixture: one test body, every world."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import FunctionType
from typing import Any, Final, Literal, TypeAlias, TypedDict, Unpack, cast, overload

from ..base.arguments import (
    check_bool,
    check_function,
    check_int,
    check_list,
    check_names,
    check_takes,
    cited,
)
from ..base.errors import ChatFakeError
from ..domain.instants import SECOND, aware, parse_length
from ..fake.config import ChatFakeConfig, given_or_default
from .deviations import KINDS, check_kinds, has_points, parse_deviations
from .environment import Environment
from .exploration import Exploration, Progress
from .failure_report import ReadyMadeTest
from .injected_errors import find_error
from .named_functions import find_function
from .search import CheckedOptions
from .world import Body

_START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)

#: The maximum of ``limit=`` and ``depth=``.
_UPPER_BOUND: Final = 1_000_000


#: Functions, or a mapping from functions to the errors that they raise.
CrashPoints: TypeAlias = (
    Iterable[Callable[..., Any] | str]
    | Mapping[Callable[..., Any], type[Exception] | str | None]
    | Mapping[str, type[Exception] | str | None]
)


class ExploreOptions(TypedDict, total=False):
    """The options of an exploration, which :meth:`Explorer.__call__` explains."""

    deviations: Iterable[str] | Literal["all"]
    limit: int
    depth: int
    seconds: float | None
    only: Iterable[str] | None
    crash_points: CrashPoints
    stop_at_first: bool


class Explorer:
    """Runs one test body in many worlds, with webhooks duplicated, reordered or refused.

    Under pytest, use the fixture ``chat_explore``::

        def test_a_sale_is_charged_once(chat_explore):
            @chat_explore
            def world(chat_fake):
                shop = Shop()
                chat_fake.webhooks.connect(wsgi=shop.app, path="/hooks/chat")
                chat_fake.send_text("Sale ends today").deliver(devices=2).read()
                chat_fake.settle()
                assert shop.spent == Decimal("0.05")

    Each run of ``world`` has its own fake, clock and shop. If a world fails, the test fails with
    that world's error, which says what went wrong and, if possible, includes a test that you can
    paste.

    Args:
        config: The configuration of every fake; the defaults if None.
        start: The time at which every world begins, unless time is already frozen.
        progress: A function to call with each progress line; by default, none is shown.

    Attributes:
        explorations: The explorations, in order.

    Raises:
        ValueError: ``start`` has no time zone.
    """

    def __init__(
        self,
        config: ChatFakeConfig | None = None,
        *,
        start: datetime = _START,
        progress: Progress = lambda _: None,
    ) -> None:
        config = given_or_default(config)
        seed = config.seed or "pytest-chatfake"
        self._config = config.replace(seed=seed)
        check_function(progress, "progress", "lambda text: print(text)", "the text")
        self._start = aware(start, "start")
        self._progress = progress
        self._item: Any = None
        self._first: Explorer | None = None  # of the first run, if the test runs again
        self._is_whole = True  # whether it then explores again
        self._unused = set[object]()  # one for each decorator
        self.explorations: list[Exploration] = []

    def __repr__(self) -> str:
        return f"<Explorer: {', '.join(map(str, self.explorations)) or 'not used yet'}>"

    @overload
    def __call__(self, body: Body, /, **options: Unpack[ExploreOptions]) -> Exploration: ...
    @overload
    def __call__(
        self, body: None = ..., /, **options: Unpack[ExploreOptions]
    ) -> Callable[[Body], Exploration]: ...
    def __call__(
        self, body: Body | None = None, /, **options: Unpack[ExploreOptions]
    ) -> Exploration | Callable[[Body], Exploration]:
        """Run a body in every world; without a body, return a decorator that does.

        Args:
            body: A function that takes a fake. If it is ``async def``, ``await`` the exploration.
            **options: All of them are optional:

                - ``deviations=DEFAULT``: The kinds to try, or ``"all"``.
                  ``pytest_chatfake.DEFAULT`` has ``"duplicate"``, ``"reorder"``,
                  ``"lose_response"``, ``"refuse"`` and ``"webhooks_first"``; the others are
                  ``"lose"``, ``"duplicate_later"``, ``"duplicate_at_once"``, ``"concurrently"``,
                  ``"two_events_at_once"``, ``"crash"``, ``"error"``, ``"delay"``,
                  ``"duplicate_new_id"``, ``"evolve"``, ``"unknown_value"``, ``"unknown_type"``,
                  ``"unknown_event"``, ``"read_at_once"``, ``"during_call"``, ``"api.fail"`` and
                  ``"api.lose_response"``; and, left out by ``"all"``, ``"api.rate_limit"``,
                  ``"api.disconnect"``, ``"api.truncate"``, ``"api.fail_page"``,
                  ``"api.fail_400"`` and ``"api.fail_401"``.
                - ``limit=500``: The maximum number of worlds.
                - ``depth=2``: The maximum number of deviations in a world; with 0, only the body as
                  written is run.
                - ``seconds=None``: No new world starts after this many real seconds.
                - ``only=None``: The only world to try, as a failure printed it.
                - ``crash_points=()``: For ``"crash"``, functions such as ``[Session.commit]``, or
                  their dotted names: the app may also crash before and after each call. For
                  ``"error"``, functions whose calls may fail. For ``"duplicate_at_once"`` and
                  ``"two_events_at_once"``, functions at which two attempts meet. A mapping gives
                  each function its exception class, as in ``{Session.commit: OperationalError}``,
                  or None for the default of ``webhooks.error()``.
                - ``stop_at_first=False``: Whether to stop at the first world that fails. If not,
                  more worlds with one deviation are tried, to find other kinds that fail: 75
                  worlds, or more if that takes no longer than the search so far.

        Raises:
            TypeError: The body is not a function that takes a fake.
            ValueError: An argument is out of range, or a deviation is unknown.
            NotRepeatable: Two runs of the body differ.
            Exception: The body's error, with notes that describe the world.
        """
        scope = _checked(options, "chat_explore()")
        if body is not None:
            return self._explore(body, scope)

        unused = object()  # not `decorator`, which would keep the explorations alive through itself

        def decorator(body: Body) -> Exploration:
            self._unused.discard(unused)
            return self._explore(body, scope)

        self._unused.add(unused)
        return decorator

    def _explore(
        self, body: Body, scope: CheckedOptions, ready_made: ReadyMadeTest | None = None
    ) -> Exploration:
        _check_body(body)
        is_async = inspect.iscoroutinefunction(body)
        config = self._config.replace(mode="async" if is_async else "sync")
        done = self._first.explorations if self._first else []
        first = next(iter(done[len(self.explorations) :]), None)
        if first is not None and not self._is_whole:
            # One world is usually enough: the one that failed, or else the body as written.
            scope = scope._replace(depth=0, only=first._failing or scope.only)
        environment = Environment(config, self._start, scope)
        exploration = Exploration(
            body,
            environment,
            self._progress,
            self._item,
            ready_made=ready_made,
            first=first,
        )
        self.explorations.append(exploration)
        return exploration if is_async else exploration._run()

    def _end(self) -> None:
        # After an interrupt, they are never resumed.
        for exploration in self.explorations:
            exploration._environment.restore()

    def _check(self) -> None:
        if self._unused or not self.explorations:
            raise ChatFakeError(
                "chat_explore was never used: write `@chat_explore` above the body, "
                "`def world(chat_fake): ...`"
            )
        for exploration in self.explorations:
            exploration._require_awaited()


def explore(
    body: Body,
    /,
    *,
    config: ChatFakeConfig | None = None,
    **options: Unpack[ExploreOptions],
) -> Exploration:
    """Run a body in every world, without pytest.

    The body is a function such as ``world`` in the example of :class:`Explorer`. If worlds fail,
    the error of the first is raised.

    Example::

        print(explore(world, depth=1))  # 18 worlds, all with up to 1 deviation

    Args:
        body: A function that takes a fake. If it is ``async def``, ``await`` the result.
        config: The configuration of every fake; the defaults if None.
        **options: ``deviations``, ``limit``, ``depth``, ``seconds``, ``only``, ``crash_points`` and
            ``stop_at_first``, as for :class:`Explorer`.
    """
    exploration = Explorer(config)._explore(body, _checked(options, "explore()"))
    exploration._warn_if_never_awaited()
    return exploration


def _checked(options: ExploreOptions, call: str) -> CheckedOptions:
    check_names(options, ExploreOptions.__annotations__, call)
    default = CheckedOptions()
    stop_at_first = options.get("stop_at_first", False)
    check_bool(stop_at_first, "stop_at_first")
    only, seconds = options.get("only"), options.get("seconds")
    kinds = check_kinds(options.get("deviations", default.kinds))
    points, all_kinds = options.get("crash_points", ()), options.get("deviations") == "all"
    found, errors = checked_points(points, tries=has_points(kinds))
    if "error" in kinds and not found and not all_kinds:
        raise ValueError(f"error: {KINDS['error'].needs}")
    return CheckedOptions(
        kinds,
        check_int(options.get("limit", default.limit), "limit", 1, _UPPER_BOUND),
        check_int(options.get("depth", default.depth), "depth", 0, _UPPER_BOUND),
        None if seconds is None else parse_length(seconds, "seconds") / SECOND,
        None if only is None else parse_deviations(only),
        found,
        errors,
        all_kinds=all_kinds,
        stop_at_first=stop_at_first,
    )


def checked_points(
    points: Iterable[Any], *, tries: bool
) -> tuple[dict[FunctionType, str] | None, dict[str, str]]:
    """Return the crash points (None: none are tried), and the errors that they raise.

    Functions are mapped to their dotted names, and those to the names of exception classes.
    """
    given = check_list(points, "crash_points", "functions such as [Session.commit]")
    names = [find_function(point, "crash_points")[0] for point in given]
    errors: dict[str, str] = {}
    if isinstance(points, Mapping):
        raised = cast("Mapping[object, object]", points).values()
        pairs = zip(names, raised, strict=True)
        errors = {name: find_error(it, "crash_points")[0] for name, it in pairs if it is not None}
    # A printed test uses these names, so they have to be importable.
    for name in (*names, *errors.values()):
        if "<locals>" in name:
            raise ValueError(
                f"crash_points: expected functions and exceptions that can be imported, got "
                f"{name}, which is local to a function. Move it out of that function"
            )
    for name in errors.values():
        find_error(name, "crash_points")
    found = {find_function(name, "crash_points")[1]: name for name in names}
    if found and not tries:
        raise ValueError(
            "crash_points= needs 'crash', 'error', 'duplicate_at_once' or 'two_events_at_once' in "
            "deviations="
        )
    return found if tries else None, errors


def _check_body(body: object) -> None:
    example = "`def world(chat_fake): ...`, which can use the test's own variables"
    check_takes(body, "body", example, "one fake")
    for is_other in (inspect.isclass, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        if is_other(body):
            raise TypeError(
                f"body: expected a plain function, not a class or a generator, got {cited(body)}"
            )
