"""The running test: one object, which the plugin pushes and pops.

Tests are a stack, because pytest may run inside pytest, as with ``pytester``. The object at the
bottom stands for no test, because fakes may be made outside pytest, or between tests.

Every pytest run imports this module.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .findings import Finding

#: The maximum number of a test's fakes, and of its findings, in a report.
_MAX_SHOWN = 10

_NOTHING: Final = nullcontext()


class CurrentTest:
    """A test from its setup to its teardown, with its fakes.

    It belongs to the lowest room, and only stores records for higher rooms.

    Args:
        item: pytest's item; None if no test runs.

    Attributes:
        is_called: Whether its fixtures are done.
        why_open: Why its fakes may stay open: it has failed or was skipped, or there is no test. A
            list of its own, which keeps nothing else of the test alive.
        thread: The thread that runs it.
        stories: The stories of the last fakes that it may have used.
        findings: The findings of extras.
        examples: The example that Hypothesis ran when a story began, by the story's number.
        lines: A cache of `calling_line`, valid as long as ``code`` stays the same.
    """

    def __init__(self, item: Any) -> None:
        self.item: Any = item
        self.stories: deque[Any] = deque(maxlen=_MAX_SHOWN)
        self.findings: deque[Finding] = deque(maxlen=_MAX_SHOWN)
        self.examples: dict[int, Any] = {}
        self.lines: dict[object, Any] = {}
        self.is_called: bool = False
        self.thread: int = threading.get_ident()
        self.why_open: list[str] = ["no test"] * (item is None)
        self._is_lost = False

    @cached_property
    def code(self) -> CodeType | None:
        """The code object of the function whose lines messages name; None if there is none."""
        return _code_of(self.item)

    def call(self) -> None:
        """Note that the test function is called now; a rerun after a failure calls it again."""
        self._is_lost = False
        self.follow(_code_of(self.item), is_called=True)

    def follow(self, code: CodeType | None, *, is_called: bool) -> None:
        """Let messages name this function's lines from now on."""
        self.code, self.is_called = code, is_called
        self.thread = threading.get_ident()
        self.lines.clear()

    def finding_about(self, error: BaseException) -> Finding | None:
        """Return the finding that an error belongs to, if any."""
        return next((found for found in self.findings if found.error is error), None)

    @contextmanager
    def following(self, code: CodeType | None) -> Generator[None]:
        """Let messages name this function's lines during a block; None changes nothing."""
        before = self.code, self.is_called
        if code is not None:
            self.follow(code, is_called=True)
        try:
            yield
        finally:
            if code is not None:
                self.follow(before[0], is_called=before[1])

    @cached_property
    def _hook(self) -> Any:
        return getattr(self.item, "ihook", None)

    def around(self, attempt: Any) -> AbstractContextManager[None]:
        """Wrap a block in the context managers of other plugins' ``pytest_chatfake_attempt``."""
        blocks = self._hook and self._hook.pytest_chatfake_attempt(attempt=attempt)
        return _entered(blocks) if blocks else _NOTHING

    def other_reply(self, api: Any, reply: Callable[[], Any], *, is_balance: bool) -> Any:
        """Return another plugin's response to a request; None: the fake's own."""
        if self._hook is None:
            return None
        return self._hook.pytest_chatfake_reply(api=api, reply=reply, is_balance=is_balance)

    def before_forget(self, story: Any) -> None:
        """Show other plugins a fake's story before the test forgets it."""
        if self._hook is not None:
            self._hook.pytest_chatfake_forget(story=story)

    @property
    def is_lost(self) -> bool:
        """Whether the test has already failed or was skipped, so that no check adds to that."""
        return self._is_lost or bool(getattr(self.item, "_excinfo", None))  # unittest's

    def mark_failed(self) -> None:
        """Note that the test has failed, or was skipped."""
        self._is_lost = True
        self.why_open.append("lost")


@contextmanager
def _entered(blocks: Iterable[AbstractContextManager[object]]) -> Generator[None]:
    with ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)
        yield


def _code_of(item: Any) -> CodeType | None:
    function: Any = getattr(item, "obj", None)
    hypothesis: Any = getattr(function, "hypothesis", None)
    function = getattr(hypothesis, "inner_test", function)
    return getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None


_tests: Final = [CurrentTest(None)]


def current() -> CurrentTest:
    """Return the running test, or the object that stands for no test."""
    return _tests[-1]


def is_of_outer_test(story: object) -> bool:
    """Return whether a story belongs to a test of an outer pytest run."""
    return any(story in test.stories for test in _tests[:-1])


@contextmanager
def running(item: Any) -> Generator[CurrentTest]:
    """Make this the current test during a block."""
    test = CurrentTest(item)
    _tests.append(test)
    try:
        yield test
    finally:
        _tests.remove(test)
