"""What a test leaves behind: steps that were never awaited, attempts that nobody looked at."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator

from ..base.calling_line import Line
from ..base.errors import NotAwaited, UndeliveredWebhooks, WebhookWarning
from ..base.views import counted
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from ..webhooks.attempts import Attempt
from ..webhooks.outbox import Outbox
from .hints import beginning_of_body, hint, why_queued, why_unused
from .labels import Labels

#: How many things one warning lists.
_MAX_LINES = 10


class TeardownChecks:
    """What a fake's test left behind: told as an error, or as warnings.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        idle: Gives the lines of each ``after()`` with nothing behind it.
        strict: Whether to raise what would be warned about.
    """

    def __init__(
        self, engine: Engine, api: AccountApi, idle: Callable[[], Iterable[Line]], *, strict: bool
    ) -> None:
        self._engine = engine
        self._api = api
        self._idle = idle
        self._strict = strict

    def run(self) -> None:
        """Raise or warn about what the test left behind.

        Raises:
            NotAwaited: Steps were never awaited.
            UndeliveredWebhooks: Strict: there is something to warn about.
            Exception: What a user route raised and was not yet re-raised.
        """
        engine = self._engine
        if engine.plan:
            text = engine.plan.complaint()
            engine.plan.drop()
            raise NotAwaited(text)
        engine.raise_errors()
        found = list(self.warnings())
        if not found:
            return
        clean = Labels(engine, self._api).clean
        found = [(clean(text), line) for text, line in found]
        if self._strict:
            raise UndeliveredWebhooks("\n".join(text for text, _ in found))
        for text, line in found:
            warnings.warn_explicit(WebhookWarning(text), None, line.file, line.number)

    def warnings(self) -> Iterator[tuple[str, Line]]:
        """Give what deserves a warning: for each a text, and the first line that it is about."""
        outbox = self._engine.outbox
        queued = [one.event for one in outbox.queue if any(e.connected for e in one.endpoints)]
        ordering = self._engine.drain.ordering
        if ordering is not None:
            queued += ordering.held
        if queued:
            text = _listed(
                f"{counted(len(queued), 'event')} still queued: end the test "
                f"with a verb, an assertion or settle(){why_queued(self._engine.blocked)}",
                [f"{event._subject}, caused at {event.line}" for event in queued],
            )
            yield text, queued[0].line
        if outbox.unheard:
            text = _listed(
                f"{counted(len(outbox.unheard), 'event')} that no endpoint listens for: "
                f"connect one with events=[...]",
                [f"{event.type}, caused at {event.line}" for event in outbox.unheard],
            )
            yield text, outbox.unheard[0].line
        failed = list(_overlooked(outbox))
        if failed:
            text = _listed(
                f"{counted(len(failed), 'attempt')} failed, and the test did not look at "
                f"fake.webhooks.attempts",
                [
                    f"{one.event._subject} at {one.endpoint._shown}: {one.outcome}{hint(one)}; "
                    f"caused at {one.event.line}{_body(one)}"
                    for one in failed
                ],
            )
            yield text, failed[0].event.line
        idle = [f for f in (*outbox.faults.ever, *self._api._faults.ever) if not f.fired]
        if idle:
            yield (
                _listed(
                    f"{counted(len(idle), 'unused fault')}, because nothing matched",
                    [f"{one.description}, set up at {one.line}{why_unused(one)}" for one in idle],
                ),
                idle[0].line,
            )
        lines = list(self._idle())
        if lines:
            text = _listed(
                f"{len(lines)} after() without a verb: write after(60).deliver()",
                [f"written at {line}" for line in lines],
            )
            yield text, lines[0]


def _overlooked(outbox: Outbox) -> Iterator[Attempt]:
    """Give the failed attempts that are news: not arranged by the test, and not made good.

    Those that the test has seen, as an exception or in ``attempts``, are no news either.
    """
    attempts = outbox.attempts
    failed = [place for place in attempts.failed(attempts.seen) if place not in attempts.surfaced]
    if not failed:
        return
    # Of an event that is tried again, the last attempt tells how it ended.
    last = {(one.event, one.endpoint): one for one in attempts if one.ok or one.fault is None}
    for one in (attempts[place] for place in failed):
        # A handler's answer is the test's own; what it raises may be a mistake in it.
        arranged = one.event.synthetic or (one.endpoint._scripted and one.error is None)
        if last.get((one.event, one.endpoint)) == one and not arranged:
            yield one


def _body(attempt: Attempt) -> str:
    """Return the beginning of the answer's body, on a line of its own."""
    words = beginning_of_body(attempt)
    return f"\n    {words}" if words else ""


def _listed(head: str, lines: list[str]) -> str:
    shown = lines[:_MAX_LINES]
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more")
    return "\n".join([head + ":", *(f"  {line}" for line in shown)])
