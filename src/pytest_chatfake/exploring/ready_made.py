"""What classes of ready-made tests share: how a subclass is collected, checked and connected."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Final

import pytest

from ..base.arguments import check_mapping, check_str, cited
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError
from ..base.session_scope import of_the_session

#: Returned at the end of a generator.
END: Final = object()


class Connected:
    """Connects an app for a block, given the result of ``connect()``."""

    def __init__(self, made: Any) -> None:
        self._made = made

    async def __aenter__(self) -> Any:
        snapshot = await _next_of(self._made)
        if snapshot is END:
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


def set_up_class(cls: type[Any], base: type[Any]) -> None:
    """Let pytest collect a subclass that has a ``connect()``, with the fixtures that this takes."""
    is_base = cls.connect is base.connect
    is_misspelt = bool(get_close_matches("connect", vars(cls)))
    cls.__test__ = vars(cls).get("__test__", is_misspelt or not is_base)
    if fixtures := fixtures_of(cls):  # so that parametrized fixtures and classes work
        pytest.mark.usefixtures(*fixtures)(cls)


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


def check_class(
    tests: type[Any], base: type[Any], methods: Sequence[tuple[str, Sequence[str], str]]
) -> None:
    """Refuse a subclass whose methods or attributes don't fit.

    Args:
        tests: The subclass.
        base: The class of ready-made tests.
        methods: Names of methods, with their parameters and a hint.
    """
    name = tests.__name__
    for method, given, hint in methods:
        fixtures = fixtures_of(tests) if method == "connect" else []
        try:
            signature = inspect.signature(getattr(tests, method))
            signature.bind(tests, *given, **dict.fromkeys(fixtures))
        except TypeError as error:
            expected = ", ".join(["self", *given])
            raise TypeError(
                f"{name}: expected {method}({expected}); {hint}; got: {error}"
            ) from None
    for what in ("expected_failures", "known_forgeries"):
        for key, reason in check_mapping(getattr(tests, what, {}), f"{name}.{what}").items():
            check_str(reason, f"{name}.{what}[{cited(key)}]")
    known = {test for test in vars(base) if test.startswith("test_")}
    left_out = {n for n, value in vars(tests).items() if n.startswith("test_") and value is None}
    for what, names in (
        ("expected_failures", {*tests.expected_failures}),
        ("only", {*check_mapping(tests.only, f"{name}.only")}),
        ("a test set to None", left_out),
    ):
        if unknown := names - known:
            raise ValueError(
                f"{name}: {what}: expected one of {sorted(known)}, got {cited(min(unknown))}"
            )


def check_expected(expected: object) -> None:
    if expected is None:
        raise ChatFakeError(
            "expected(): expected what the snapshot has to be, got None: did you forget `return`?"
        )


def item_of(mapping: Any, name: str) -> Any:
    """Return a mapping's value; None for what isn't a mapping, which is refused later."""
    return mapping.get(name) if hasattr(mapping, "get") else None


def own_line(function: Callable[..., Any], fallback: Callable[..., Any]) -> Any:
    """Return the function whose lines are reported, below its decorators."""
    found = inspect.unwrap(function)
    return found if inspect.isfunction(found) else fallback


async def _next_of(made: Any) -> Any:
    # What connect() returned, or yields next.
    if inspect.isgenerator(made):
        return next(made, END)
    if inspect.isasyncgen(made):
        return await anext(made, END)
    return await made if inspect.isawaitable(made) else made


async def _end(made: Any) -> None:
    is_generator = inspect.isgenerator(made) or inspect.isasyncgen(made)
    if is_generator and await _next_of(made) is not END:
        raise ChatFakeError("connect(): expected one yield, got a second one")
