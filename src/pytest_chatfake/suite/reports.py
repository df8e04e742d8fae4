"""The timeline in the report of a test: as part of its failure's own text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from ..base.calling_line import watch
from ..base.terminal import say
from ..base.tracebacks import text_of
from ..report import active_stories
from ..report.hints import why_foreign
from ..report.story import TITLE, Story

#: Where a report carries its pictures. They are no extras: pytest-html shows these in all rows of a
#: test, the row of a rerun that passed among them.
PICTURES: Final = "chat_fake_pictures"

_begun: pytest.Item | None = None
_lost = False


def begin(item: pytest.Item) -> None:
    """Begin a test, unless it has begun: lines are its own from now on, and so are fakes."""
    global _begun, _lost
    if _begun is not item:
        _begun, _lost = item, False
        active_stories.begin(is_lost)
        watch(_code_of(item))


def called(item: pytest.Item) -> None:
    """Note that the test function itself is called now; after a failure it may be called again."""
    global _lost  # noqa: PLW0603 - as above
    _lost = False
    watch(_code_of(item), called=True)


def is_lost() -> bool:
    """Return whether the test has failed already, or was skipped: nothing is added to that."""
    return _lost or bool(getattr(_begun, "_excinfo", None))  # where unittest's errors wait


def end() -> None:
    """End the test."""
    global _begun, _lost
    _begun, _lost = None, False
    active_stories.end()
    watch(None)


def tell(report: pytest.TestReport, config: pytest.Config) -> None:
    """Put what is new into a report: into the failure's own text, so that every format has it.

    Args:
        report: The report of a phase of the test.
        config: Says which reports are told, and whether pytest-html shows a picture.
    """
    global _lost  # noqa: PLW0603 - as above
    _lost = _lost or not report.passed
    when = config.getini("chat_fake_timeline")
    if when == "never" or not (report.failed or (when == "always" and report.when != "setup")):
        return
    for story in active_stories.stories():
        text = _section(story)
        if text:
            _add(report, text)
            if report.failed and config.getoption("htmlpath", None):
                with spared("the picture of a timeline"):
                    setattr(
                        report, PICTURES, [*pictures(report), story.picture(story.begin_of_test())]
                    )


def pictures(report: pytest.TestReport) -> list[str]:
    """Return the pictures that a report carries for pytest-html, from a worker of xdist, too."""
    found: list[str] = getattr(report, PICTURES, [])
    return found


def advise(error: BaseException) -> None:
    """Add to an error of a test what a fake of it knows of the cause.

    Args:
        error: What the test failed with.
    """
    if not active_stories.stories():
        return
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        hint = why_foreign(cause)
        if hint:
            error.add_note(hint)
            return
        cause = cause.__cause__ or cause.__context__


def interrupt(config: pytest.Config) -> None:
    """Print what happened in the test that Ctrl-C ended; a worker of xdist has no terminal.

    The page of the run has it, too, if there is one.
    """
    run: Any = config.pluginmanager.get_plugin("chatfake-run")
    if run is not None and _begun is not None:
        run.interrupted(_begun)
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    for text in map(_section, active_stories.stories()):
        if text and terminal is not None:
            begin_line(terminal)
            terminal.section(TITLE)
            terminal.line(text)


def parts_of(report: pytest.TestReport) -> list[str]:
    """Return the text of a failure, without what an exploration found; then each timeline."""
    failure, *told = re.split(f"^-+ {TITLE} -+$", report.longreprtext, flags=re.MULTILINE)
    failure = re.sub(r"^E +chat_explore: (?s:.*)^E.*\n?", "", failure, flags=re.MULTILINE)
    return [one.strip("\n") for one in (failure, *told)]


def begin_line(terminal: Any) -> None:
    """Begin a line of the terminal's reporter."""
    terminal.ensure_newline()
    if terminal._tw.width_of_current_line:  # -q has no path there, only its dots
        terminal.line("")


def progress(config: pytest.Config) -> Callable[[str], None]:
    """Return what writes a progress line, if a person is watching."""
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if terminal is None or capture is None or not terminal.isatty() or terminal.verbosity < 0:
        return lambda _: None

    def rewrite(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.rewrite(text, erase=True)

    return rewrite


def _section(story: Story) -> str:
    try:
        text = story.section()
    except Exception as error:  # a test that failed must not lose its report
        return untold(error)
    return text


def _add(report: pytest.TestReport, text: str) -> None:
    longrepr: Any = report.longrepr
    if hasattr(longrepr, "addsection") and report.failed:
        longrepr.addsection(TITLE, text)
    elif isinstance(longrepr, str) and report.failed:
        report.longrepr = f"{longrepr}\n{f' {TITLE} ':-^80}\n{text}"
    else:
        report.sections.append((TITLE, text))


def _code_of(item: pytest.Item) -> Any:
    """Return the code of a test's function; None if it has none."""
    function: Any = getattr(item, "obj", None)
    hypothesis: Any = getattr(function, "hypothesis", None)
    function = getattr(hypothesis, "inner_test", function)
    return getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None


def untold(error: Exception) -> str:
    """Return the reason why something can't be shown, in place of it."""
    return f"it can't be told: {type(error).__name__}: {text_of(error)}"


@contextmanager
def spared(what: str) -> Generator[None]:
    """Print what goes wrong in a block, and go on: a test keeps its outcome, and the run ends."""
    try:
        yield
    except Exception as error:
        say(f"{what}: {untold(error)}")
