"""``explore()`` and the ``chat_explore`` fixture: one test body, every world."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, overload

from ..base.arguments import check_int, check_takes, cited
from ..base.errors import ChatFakeError
from ..domain.ids import derived_key
from ..domain.instants import aware
from ..fake.config import ChatFakeConfig, given_or_default
from ..fake.fake import ChatFake
from .exploration import Exploration, Plan, Progress
from .moves import DEFAULT, check_kinds, parsed
from .world import Surroundings

#: A body: a function of one fake.
Body = Callable[[ChatFake], Any]

_START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


#: Of worlds, and of deviations in one: nobody has the time for more.
_MOST: Final = 1_000_000


class Explorer:
    """Runs a test body as written, and in worlds that deviate from it.

    Under pytest, the ``chat_explore`` fixture is one.

    Args:
        config: The configuration of every fake; None: the defaults.
        start: When every world begins, unless time stands still already.
        progress: Takes the text of a progress line.

    Raises:
        TypeError: An argument is of the wrong kind.
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
        key = config.api_key or derived_key(f"{seed} explored")
        self._config = config.replace(seed=seed, api_key=key)
        if not callable(progress):
            raise TypeError(f"progress must be a function of a text, not {cited(progress)}")
        check_takes(progress, "progress", "lambda text: print(text)", "the text")
        self._start = aware(start, "start")
        self._progress = progress
        self.explorations: list[Exploration] = []

    def __repr__(self) -> str:
        return f"<Explorer: {', '.join(map(str, self.explorations)) or 'not used yet'}>"

    @overload
    def __call__(
        self,
        body: Body,
        /,
        *,
        deviations: Iterable[str] = ...,
        limit: int = ...,
        depth: int = ...,
        seconds: float | None = ...,
        only: Iterable[str] | None = ...,
    ) -> Exploration: ...
    @overload
    def __call__(
        self,
        body: None = ...,
        /,
        *,
        deviations: Iterable[str] = ...,
        limit: int = ...,
        depth: int = ...,
        seconds: float | None = ...,
        only: Iterable[str] | None = ...,
    ) -> Callable[[Body], Exploration]: ...

    def __call__(
        self,
        body: Body | None = None,
        /,
        *,
        deviations: Iterable[str] = DEFAULT,
        limit: int = 500,
        depth: int = 2,
        seconds: float | None = None,
        only: Iterable[str] | None = None,
    ) -> Exploration | Callable[[Body], Exploration]:
        """Run a body in every world; or return a decorator that does.

        Args:
            body: A function of one fake; with ``async def``, ``await`` the exploration.
            deviations: What may deviate: ``"duplicate"``, ``"reorder"``, ``"lose_response"``,
                ``"refuse"``, ``"webhooks_first"``; and, off unless asked for, ``"drop"``,
                ``"duplicate_later"`` and ``"concurrently"``.
            limit: How many worlds are tried at most.
            depth: How many deviations a world has at most; 0: the body as written.
            seconds: After how many real seconds no more worlds are begun; None: never.
            only: The one world to try, as a failure printed it.

        Returns:
            What was done; in an async test, to be awaited.

        Raises:
            TypeError: An argument is of the wrong kind, or the body is no function of one fake.
            ValueError: An argument is out of range, or there is no such deviation.
            NotRepeatable: The body does not do the same twice.
            Exception: What the body raised, with notes that say in which world.
        """
        plan = Plan(
            check_kinds(deviations),
            check_int(limit, "limit", 1, _MOST),
            check_int(depth, "depth", 0, _MOST),
            _checked_seconds(seconds),
            None if only is None else parsed(only),
        )
        if body is None:
            return lambda body: self._explore(body, plan)
        return self._explore(body, plan)

    def _explore(self, body: Body, plan: Plan) -> Exploration:
        _check_body(body)
        is_async = inspect.iscoroutinefunction(body)
        config = self._config.replace(mode="async" if is_async else "sync")
        exploration = Exploration(body, plan, Surroundings(config, self._start), self._progress)
        self.explorations.append(exploration)
        if is_async:
            return exploration
        return exploration._run()

    def _check(self) -> None:
        """Refuse that a test ends which has explored nothing."""
        if not self.explorations:
            raise ChatFakeError(
                "chat_explore was never used: write `@chat_explore` above the body, "
                "`def world(chat_fake): ...`"
            )
        for one in self.explorations:
            one._refuse_unawaited()


def _checked_seconds(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"seconds must be a number of real seconds, not {cited(seconds)}")
    if not seconds > 0:
        raise ValueError(f"seconds must be greater than 0, not {cited(seconds)}")
    return seconds


def _check_body(body: object) -> None:
    if not callable(body) or inspect.isclass(body):
        raise TypeError(
            f"an exploration takes a body: a function of one fake, as in "
            f"`def world(chat_fake): ...`, and not {cited(body)}"
        )
    name = getattr(body, "__name__", type(body).__name__)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise TypeError(f"the body {name}() has a yield: it must be a plain function of one fake")
    try:
        inspect.signature(body).bind(object())
    except TypeError:
        raise TypeError(
            f"the body takes one argument, the fake, and {name}{inspect.signature(body)} does not: "
            f"write def {name}(chat_fake), and take the rest from around it"
        ) from None


def explore(
    body: Body,
    /,
    *,
    config: ChatFakeConfig | None = None,
    deviations: Iterable[str] = DEFAULT,
    limit: int = 500,
    depth: int = 2,
    seconds: float | None = None,
    only: Iterable[str] | None = None,
) -> Exploration:
    """Run a body as written, and in worlds that deviate from it; for use without pytest.

    Args:
        body: A function of one fake; with ``async def``, ``await`` what is returned.
        config: The configuration of every fake; None: the defaults.
        deviations: As for :class:`Explorer`, and so are the others.
        limit: How many worlds are tried at most.
        depth: How many deviations a world has at most.
        seconds: After how many real seconds no more worlds are begun.
        only: The one world to try.

    Returns:
        What was done.
    """
    exploration = Explorer(config)(
        body, deviations=deviations, limit=limit, depth=depth, seconds=seconds, only=only
    )
    exploration._is_loose = True
    return exploration
