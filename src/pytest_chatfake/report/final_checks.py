"""Checks what a test leaves behind, at the end of its function or of a fake's block."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ..base.calling_line import Line
from ..base.errors import ChatFakeError, UndeliveredWebhooks, UnusedFault, WebhookWarning
from ..base.tracebacks import raised_at
from ..base.views import counted, folded
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from .active_stories import is_in_a_test
from .hints import awaited, beginning_of_body, hint, unused_faults, unused_line, why_queued
from .labels import Labels

#: The maximum number of items in a text.
_MAX_LINES: Final = 10

_WAY_OUT: Final = "With strict=False this is a warning."


class Leftover(NamedTuple):
    """Something that a test has left behind.

    Attributes:
        text: What it is and what to do, with a line for each.
        line: The first line of the test that it is about.
        error: What fails a strict test, if nothing else does; None: it does not fail the test.
    """

    text: str
    line: Line
    error: type[ChatFakeError] | None


class FinalChecks:
    """Reports what a fake's test left behind, as an error or as warnings.

    Args:
        engine: The fake's engine.
        api: The fake's part of the HTTP API.
        strict: Whether leftovers fail the test.
    """

    def __init__(self, engine: Engine, api: AccountApi, *, strict: bool) -> None:
        self._engine = engine
        self._api = api
        self._strict = strict

    def run(self) -> None:
        """Raise or warn about what the test left behind; a closed fake was checked before.

        In sync mode, queued events are attempted first.

        Raises:
            NotAwaited: Steps were never awaited.
            UndeliveredWebhooks: Strict, and there is something to warn about.
            UnusedFault: Strict, and the only leftovers are faults that never fired.
            Exception: An error of a route or an app that was not raised in the test yet.
        """
        engine = self._engine
        if engine.core.closed:
            return
        engine.plan.end()
        if engine.mode == "sync":
            engine.settle_before_read()
        engine.core.raise_errors()
        clean = Labels(engine, self._api).clean
        found = [leftover._replace(text=clean(leftover.text)) for leftover in self._leftovers()]
        errors = [leftover for leftover in found if self._strict and leftover.error]
        if errors:
            text = "\n".join([*(leftover.text for leftover in errors), _WAY_OUT])
            is_unused = all(leftover.error is UnusedFault for leftover in errors)
            error = UnusedFault if is_unused else UndeliveredWebhooks
            raise raised_at(error(text), errors[0].line)
        for text, line, _ in found:
            warnings.warn_explicit(WebhookWarning(text), None, line.file, line.number)

    def require_accepted(self) -> None:
        """Raise UndeliveredWebhooks for failed attempts, even for those that the test has seen."""
        attempts = list(_failed(self._engine))
        if attempts:
            text = f"expected 2xx for every event, but {undelivered(attempts, self._engine)}"
            error = UndeliveredWebhooks(Labels(self._engine, self._api).clean(text))
            raise raised_at(error, attempts[0].event.line)

    def check_attempts(self) -> None:
        """Raise the app's errors; in a strict test, UndeliveredWebhooks for overlooked attempts."""
        self._engine.core.raise_errors()
        failed = list(overlooked(self._engine))
        if failed and self._strict:
            raise UndeliveredWebhooks(undelivered(failed, self._engine))

    def _leftovers(self) -> Iterator[Leftover]:
        # Errors closest to the app come first.
        engine, outbox = self._engine, self._engine.outbox
        is_explained = self._strict and is_in_a_test()  # the failure's timeline explains it

        def caused(event: Event) -> str:
            name = event._name if is_explained else event._full_name
            return f"{name} (caused {event.line.place})"

        queued = outbox.queued + [attempt.event for attempt in outbox.queue.delayed]
        yield from _listed(
            " failed; fix the app, or assert on chat_fake.webhooks.attempts",
            "attempt",
            [
                (_failed_line(attempt, caused(attempt.event)), attempt.event.line)
                for attempt in overlooked(engine)
            ],
        )
        yield from _listed(
            f" still queued; end the test with `{awaited(engine)}chat_fake.settle()`"
            f"{why_queued(engine.state.blocked)}",
            "event",
            [(caused(event), event.line) for event in queued],
        )
        yield from _listed(
            ' that no endpoint listens for; connect the app with events="*"',
            "event",
            [
                (f"{event.type} (caused {event.line.place})", event.line)
                for event in outbox.unheard
                if event.type != engine.settings.naming.event_type  # because many tests have no app
            ],
        )
        for is_shared in (False, True):
            yield from _listed(
                "; set up a fault before the verb, or remove it",
                "unused fault",
                [
                    (unused_line(fault, engine), fault.line)
                    for fault in unused_faults(engine, self._api)
                    if fault._is_shared == is_shared
                ],
                None if is_shared else UnusedFault,
            )
        yield from _listed(
            " whose result was never used",
            "call",
            [(f"write {use} {line.place}", line) for use, line in engine.state.unused.values()],
        )


def warn_of_unclosed(why_open: Sequence[str], line: Line | None) -> None:
    """Warn that a test's fake is gone, and was never closed; None: the test didn't make it."""
    if line is not None and not why_open:
        text = (
            f"ChatFake() {line.place} was never closed, so nothing checked it: "
            "write `with ChatFake() as fake:`, or call its close()"
        )
        warnings.warn_explicit(WebhookWarning(text), None, line.file, line.number)


def overlooked(engine: Engine) -> Iterator[Attempt]:
    """Return the failed attempts that a test has overlooked.

    The test neither caused them nor saw them, as an exception or in ``attempts``, and no later
    attempt made up for them, or will.
    """
    return (each for each in _failed(engine, engine.outbox.seen) if not each._surfaced)


def _failed(engine: Engine, seen: int = 0) -> Iterator[Attempt]:
    attempts = engine.outbox.attempts
    failed = [attempt for attempt in attempts[seen:] if not attempt.ok]
    if not failed:
        return
    # After retries, the last attempt shows whether it made up for the failures.
    last = {
        (attempt.event, attempt.endpoint): attempt
        for attempt in attempts
        if not attempt._meaning.uncounted and (attempt.ok or not _is_caused(attempt))
    }
    later = retried(engine)
    for attempt in failed:
        key = attempt.event, attempt.endpoint
        if key in last and not last[key].ok and key not in later and not _is_caused(attempt):
            yield attempt


def retried(engine: Engine) -> set[tuple[Event, Endpoint]]:
    """Return which events will be attempted again, and at which endpoints."""
    with engine.core.lock:
        return {
            (attempt.event, attempt.endpoint)
            for _, kind, attempt in engine.state.schedule.pending()
            if kind == "attempt"
        }


def _is_caused(attempt: Attempt) -> bool:
    # The test wanted it to fail, or the app was right to refuse it.
    return (
        attempt.endpoint._is_receiver
        or attempt.event.synthetic
        or attempt._meaning.wanted
        or attempt._meaning.wrong
    )


def undelivered(attempts: Sequence[Attempt], engine: Engine) -> str:
    """Return a line for each failed attempt, under a count; the first has the observer's remark."""
    observer = engine.drain.observer
    remark = "" if observer is None else observer.remark
    lines = [_failed_line(attempt, attempt.event._name) for attempt in attempts]
    head = f"{counted(len(attempts), 'attempt')} failed:"
    first, *others = folded(lines, _MAX_LINES)
    return "\n  ".join([head, first + remark, *others])


def _failed_line(attempt: Attempt, what: str) -> str:
    body = "" if attempt._logged else beginning_of_body(attempt.body)
    how = f"{attempt.outcome}{hint(attempt)}{body and f': {body}'}"
    return f"{what} to {attempt.endpoint._shown}{attempt._place}: {how}"


def _listed(
    problem: str,
    what: str,
    found: list[tuple[str, Line]],
    error: type[ChatFakeError] | None = UndeliveredWebhooks,
) -> Iterator[Leftover]:
    if found:
        head = f"{counted(len(found), what)}{problem}:"
        shown = folded((text for text, _ in found), _MAX_LINES)
        yield Leftover("\n".join([head, *(f"  {text}" for text in shown)]), found[0][1], error)
