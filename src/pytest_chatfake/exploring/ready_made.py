"""What ``WebhookTests`` and ``SendTests`` share.

:class:`ReadyMade` is their base class. pytest collects a user's subclass of theirs. For each test,
a :class:`.ReadyMadeRun` explores the user's methods, and says in the card what was tried.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Final, TypeAlias

import pytest

from ..base.arguments import check_mapping, check_str, cited
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError
from ..fake.fake import ChatFake
from .explorer import CrashPoints

#: A user's methods, each with its parameters and a hint.
Parameters: TypeAlias = Sequence[tuple[str, Sequence[str], str]]

#: Returned at the end of a generator.
_END: Final = object()


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


def check_class(tests: type[ReadyMade], methods: Parameters) -> None:
    """Refuse a subclass whose methods or attributes don't fit."""
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


def item_of(mapping: Any, name: str) -> Any:
    """Return a mapping's value; None for what isn't a mapping, which is refused later."""
    return mapping.get(name) if hasattr(mapping, "get") else None


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
