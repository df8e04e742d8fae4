"""What a test leaves behind: steps that were never awaited, attempts that nobody looked at."""

from __future__ import annotations

import traceback
import warnings
from typing import TYPE_CHECKING

from .exceptions import NotAwaited, WebhookWarning
from .timeline import fake_story, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .fake import ChatFake
    from .webhooks.events import Attempt
    from .webhooks.outbox import Outbox

__all__ = ["complain", "sections", "warnings_of"]

#: How many lines one warning shows.
_MAX_LINES = 10


def complain(fake: ChatFake) -> None:
    """Raise or warn about what the test left behind.

    Raises:
        NotAwaited: Steps were never awaited.
        Exception: What a user route raised and nobody has met yet.
    """
    engine = fake._engine
    if engine.plan:
        text = engine.plan.complaint()
        engine.plan.drop()
        raise NotAwaited(text)
    engine.raise_errors()
    for text in warnings_of(fake):
        warnings.warn(WebhookWarning(text), stacklevel=2)


def sections(fake: ChatFake) -> Iterator[tuple[str, str]]:
    """Give the sections that the report of a failed test shows, each a title and a text."""
    engine = fake._engine
    if engine.plan:
        yield "chat fake: not awaited", engine.plan.complaint()
    if engine.outbox.events or len(engine.account.ledger.entries) > 1:
        yield "chat fake: what happened", fake_story(engine)
    for error in engine.errors:
        yield "chat fake: a route raised", "".join(traceback.format_exception(error))
    if fake.api._log:
        yield "chat fake: requests", table([[str(one)] for one in fake.api._log])
    problems = list(warnings_of(fake))
    if problems:
        yield "chat fake: webhooks", "\n".join(problems)


def warnings_of(fake: ChatFake) -> Iterator[str]:
    """Give what deserves a warning, each in a text of its own."""
    outbox = fake._engine.outbox
    queued = [one for one in outbox.queue if any(e.connected for e in one.endpoints)]
    if queued:
        yield _listed(
            f"{len(queued)} event{_s(queued)} still queued, and not attempted: end the test with "
            f"a verb, an assertion or settle()",
            [f"{one.event.status} of message {one.event.message_id}, caused at {one.event.line}"
             for one in queued],
        )  # fmt: skip
    failed = list(_overlooked(outbox, fake.webhooks._seen))
    if failed:
        yield _listed(
            f"{len(failed)} attempt{_s(failed)} failed, and the test did not look at "
            f"fake.webhooks.attempts",
            [
                f"{one.event.status} of message {one.event.message_id} at {one.endpoint.name}: "
                f"{one.outcome}{_hint(one)}; caused at {one.event.line}"
                for one in failed
            ],
        )
    idle = [f for f in (*fake.webhooks._past_faults, *fake.api._past_faults) if not f.fired]
    if idle:
        yield _listed(
            f"{len(idle)} fault{_s(idle)} never fired, because nothing matched",
            [f"{one.description}, set up at {one.line}" for one in idle],
        )


def _overlooked(outbox: Outbox, seen: int) -> Iterator[Attempt]:
    """Give the failed attempts that are news: not arranged by the test, and not made good.

    Those that the test has met, as an exception or by looking at them, are no news either.
    """
    attempts = outbox.attempts
    failed = [place for place in attempts.failed(seen) if place not in outbox.surfaced]
    if not failed:
        return
    # Of an event that is tried again, the last attempt tells how it ended.
    last = {(one.event, one.endpoint): one for one in attempts if one.fault is None}
    for one in (attempts[place] for place in failed):
        if last.get((one.event, one.endpoint)) == one and not (
            one.endpoint._scripted or one.event.forged
        ):
            yield one


def _hint(attempt: Attempt) -> str:
    hints = {404: " (is path= right?)", 405: " (does that path take POST?)"}
    return hints.get(attempt.status_code or 0, "")


def _s(things: Sequence[object]) -> str:
    return "" if len(things) == 1 else "s"


def _listed(head: str, lines: list[str]) -> str:
    shown = lines[:_MAX_LINES]
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more")
    return "\n".join([head + ":", *(f"  {line}" for line in shown)])
