"""The test that runs now: one object, which the plugin pushes and pops.

A run of pytest may run inside another one, so tests are a stack. At its bottom is no test: fakes
are made outside pytest, too, and between tests.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from types import CodeType
from typing import Any, Final

#: How many fakes of one test a report shows, and how many findings.
_MAX_SHOWN: Final = 10


class Finding:
    """What an extra has found in a test, in fakes that it has made: reports and pages show it.

    Args:
        title: What it is about.
        result: How far the extra has come, or where the test failed.

    Attributes:
        title, result: As given.
        sentence: What comes before the first line of the error, where reports are short.
        text: All that was found, without secrets.
        test: The source of a test to paste, without secrets; empty: there is none.
        stories: The stories of the fakes that explain the error.
        error: What the test fails with; None: it does not fail.
        notes: What was noted at the error; short reports leave it out.
    """

    def __init__(self, title: str, result: str) -> None:
        self.title = title
        self.result = result
        self.sentence: str = ""
        self.text: str = ""
        self.test: str = ""
        self.stories: list[Any] = []
        self.error: BaseException | None = None
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a note to the error."""
        assert self.error is not None
        self.error.add_note(text)
        self.notes.append(text)


class CurrentTest:
    """A test from its setup to its teardown, with its fakes.

    It is in the lowest room, and holds records of higher ones without looking at them.

    Args:
        item: pytest's; None: no test runs.

    Attributes:
        again: What sets a run of it apart that a plugin makes after its own, and of which nobody
            is told; ids are derived from this, too.
        is_called: Whether its fixtures are done.
        thread: The thread that runs it.
        stories: The stories of the fakes that it may have used; of many, the last ones.
        findings: What extras have found in it.
        examples: The example that Hypothesis ran when a story began, by the story's number.
        lines: The lines that were found on the stack while ``code`` was the same.
    """

    def __init__(self, item: Any) -> None:
        self.item: Any = item
        self.again: str = ""
        self.stories: deque[Any] = deque(maxlen=_MAX_SHOWN)
        self.findings: deque[Finding] = deque(maxlen=_MAX_SHOWN)
        self.examples: dict[int, Any] = {}
        self.lines: dict[object, Any] = {}
        self.is_called: bool = False
        self.thread: int = threading.get_ident()
        self._is_lost = False

    @cached_property
    def code(self) -> CodeType | None:
        """The code of the function at whose lines verbs are reported; None: there is none."""
        return _code_of(self.item)

    def call(self) -> None:
        """Note that its function is called now; after a failure it may be called again."""
        self._is_lost = False
        self.follow(_code_of(self.item), is_called=True)

    def follow(self, code: CodeType | None, *, is_called: bool) -> None:
        """Report verbs at the lines of a function from now on."""
        self.code, self.is_called = code, is_called
        self.thread = threading.get_ident()
        self.lines.clear()

    def finding_about(self, error: BaseException) -> Finding | None:
        """Return what an extra has found about an error; None: nothing."""
        return next((found for found in self.findings if found.error is error), None)

    @contextmanager
    def following(self, code: CodeType | None) -> Generator[None]:
        """Report verbs at the lines of a function in a block; None: nothing changes."""
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
        """Calls the hooks of other plugins; None: no test runs."""
        return getattr(self.item, "ihook", None)

    @contextmanager
    def around(self, attempt: Any) -> Generator[None]:
        """Make an attempt inside the blocks of other plugins."""
        with ExitStack() as stack:
            if self._hook is not None:
                for block in self._hook.pytest_chatfake_attempt(attempt=attempt):
                    stack.enter_context(block)
            yield

    def other_reply(self, api: Any, reply: Callable[[], Any], *, is_balance: bool) -> Any:
        """Return the response that another plugin gives to a call; None: the fake's own."""
        if self._hook is None:
            return None
        return self._hook.pytest_chatfake_reply(api=api, reply=reply, is_balance=is_balance)

    def before_forget(self, story: Any) -> None:
        """Show a fake's story to other plugins, before it leaves those of the test."""
        if self._hook is not None:
            self._hook.pytest_chatfake_forget(story=story)

    @property
    def is_lost(self) -> bool:
        """Whether it has failed already, or was skipped: nothing is added to that."""
        return self._is_lost or bool(getattr(self.item, "_excinfo", None))  # where unittest's wait

    def lose(self) -> None:
        """Note that it has failed, or was skipped."""
        self._is_lost = True


def _code_of(item: Any) -> CodeType | None:
    function: Any = getattr(item, "obj", None)
    hypothesis: Any = getattr(function, "hypothesis", None)
    function = getattr(hypothesis, "inner_test", function)
    return getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None


_tests: Final = [CurrentTest(None)]


def current() -> CurrentTest:
    """Return the test that runs now, or what stands for none."""
    return _tests[-1]


def is_of_outer_test(story: object) -> bool:
    """Return whether a story is of a test inside which a run of pytest runs the current one."""
    return any(story in test.stories for test in _tests[:-1])


@contextmanager
def running(item: Any) -> Generator[CurrentTest]:
    """Run a test in a block: what fakes do there is its own."""
    test = CurrentTest(item)
    _tests.append(test)
    try:
        yield test
    finally:
        _tests.remove(test)
