"""Adds the timeline to a test's report, as part of the failure's own text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from ..base.current_test import current
from ..base.errors import UndeliveredWebhooks, UnusedFault
from ..base.terminal import say
from ..base.tracebacks import related, text_of
from ..report import active_stories
from ..report.hints import why_foreign
from ..report.section import Section
from ..report.story import Story

_TITLE: Final = "chat_fake timeline"


def record_of(report: pytest.TestReport) -> dict[str, Any]:
    """Return the data that a report keeps about its test's fakes.

    It has to be JSON, because pytest-xdist sends it from a worker to the terminal's process.
    """
    found: dict[str, Any] = vars(report).setdefault("chat_fake", {})
    return found


def add_timeline(item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> None:
    """Add whatever is new to a report: to the failure's own text, so that every format has it.

    Args:
        item: The test; its configuration decides which reports have a timeline.
        report: The report on one of the test's phases.
        error: The phase's error.
    """
    if not report.passed:
        current().lose()
    when = item.config.getini("chat_fake_timeline")
    if when == "never" or not (report.failed or (when == "always" and report.when != "setup")):
        return
    for story in active_stories.stories():
        text, section = _section(story, error)
        if text:
            _add(report, text)
            if report.failed and section is not None:
                item.ihook.pytest_chatfake_section(item=item, report=report, section=section)


def cause_of(error: BaseException) -> str:
    """Return an error on one line, with the event for which an app raised it.

    An extra's finding about the error comes first.
    """
    lines = [line.strip() for line in text_of(error).splitlines()]
    text = lines[0] if lines else type(error).__name__
    if isinstance(error, UndeliveredWebhooks | UnusedFault):
        text = " ".join(lines[1:2] or lines)  # the first line only counts what was overlooked
    elif not isinstance(error, AssertionError | pytest.skip.Exception | pytest.fail.Exception):
        text = f"{type(error).__name__}: {text}{event_of(error)}"
    found = current().finding_about(error)
    if found is not None and found.sentence and not text.startswith(found.sentence):
        return f"{found.sentence}; {text}"
    return text


def event_of(error: BaseException) -> str:
    found = current().finding_about(error)
    for story in active_stories.stories() if found is None else found.stories:
        attempt = story.attempt_of(error)
        if attempt is not None:
            return f", while handling {attempt.event._name}"
    return ""


def shorten_summary(report: pytest.TestReport, error: BaseException) -> None:
    """Leave an extra's notes out of pytest's summary line, which isn't cut off on CI."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    found = current().finding_about(error)
    if found is not None and crash is not None:
        crash.message = crash.message.partition(f"\n{found.notes[0]}")[0]


def add_hint(error: BaseException) -> None:
    """Add a note to an error whose cause one of the test's fakes knows."""
    if not active_stories.stories() and current().finding_about(error) is None:
        return
    hint = next((why for one in related(error) if (why := why_foreign(one))), "")
    if hint:
        error.add_note(hint)


def interrupt(config: pytest.Config) -> None:
    """Print what happened in the test that Ctrl-C ended."""
    current().lose()
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    for text, _ in map(_section, active_stories.stories()):
        if text and terminal is not None:
            begin_line(terminal)
            terminal.section(_TITLE)
            terminal.line(text)


def begin_line(terminal: Any) -> None:
    """Begin a new line on the terminal."""
    terminal.ensure_newline()
    if terminal._tw.width_of_current_line:  # `-q` only prints dots on it
        terminal.line("")


def _section(story: Story, error: BaseException | None = None) -> tuple[str, Section | None]:
    try:
        section = Section(story, error)
        return str(section), section
    except Exception as flaw:  # a failed test must not lose its report
        return why_unavailable("the timeline", flaw), None


def _add(report: pytest.TestReport, text: str) -> None:
    longrepr: Any = report.longrepr
    if hasattr(longrepr, "addsection") and report.failed:
        longrepr.addsection(_TITLE, text)
    elif isinstance(longrepr, str) and report.failed:
        report.longrepr = f"{longrepr}\n{f' {_TITLE} ':-^80}\n{text}"
    else:
        report.sections.append((_TITLE, text))


def why_unavailable(what: str, error: Exception) -> str:
    """Return a line to show in place of something that can't be shown."""
    return f"{what} can't be shown: {type(error).__name__}: {text_of(error)}"


@contextmanager
def log_errors(what: str) -> Generator[None]:
    """Print an error of the block and go on: the test keeps its outcome, and the run ends."""
    try:
        yield
    except Exception as error:
        say(why_unavailable(what, error))
