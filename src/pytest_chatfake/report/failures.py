"""The sentences with which expectations fail.

Each has what was expected and what was found, the likely cause and the remedy where they are
known, and the nearest evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from ..base.arguments import cited
from ..base.tracebacks import text_of
from ..domain.instants import stamp
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..webhooks.events import Event
from ..wire.exact_json import number
from .causes import Causes
from .labels import Labels
from .reasoning import Reasoning
from .sections import Story
from .tables import table

#: What can be expected of the account; what is held and charged, of one message, too.
Figure: TypeAlias = Literal["available", "held", "charged"]


def amount_failure(
    story: Story, what: Figure, expected: Decimal, message: MessageState | None
) -> str | None:
    """Compare an amount of the account, or of one message."""
    engine = story.engine
    ledger = engine.account.ledger
    if message is None:
        found = {"available": ledger.available, "held": ledger.held, "charged": ledger.charged}[
            what
        ]
    else:
        found = message.held if what == "held" else message.charged
    if found == expected:
        return None
    labels, causes = _evidence(story)
    if message is None:
        likely, subject = causes.of_total(what, expected, found), "the account"
    else:
        likely = causes.of_charge(message) if what == "charged" else causes.of_hold(message)
        subject = f"{labels.message(message)}, message {message.id}"
        story.named.append(message)
    entries = [one for one in ledger.entries if message is None or one.message_id == message.id]
    currency = engine.settings.currency
    verb = {"available": "Available on", "held": "Held for", "charged": "Charged to"}[what]
    return labels.clean(
        "\n".join(
            [
                f"{what}: expected {number(expected)} {currency}, found {number(found)} {currency}",
                *_as_far_as_it_goes(likely),
                f"{verb} {subject}, by the ledger:",
                _ledger_table(story, labels, entries),
            ]
        )
    )


def charge_failure(
    story: Story, expected: Decimal, found: Decimal, entries: Sequence[LedgerEntry]
) -> str | None:
    """Compare what a block charged."""
    if found == expected:
        return None
    labels, causes = _evidence(story)
    currency = story.engine.settings.currency
    amounts = f"{number(expected)} {currency}, found {number(found)} {currency}"
    return labels.clean(
        "\n".join(
            [
                f"charged in the block: expected {amounts}",
                *_as_far_as_it_goes(causes.of_total("charged", expected, found)),
                "Posted in the block:",
                _ledger_table(story, labels, entries),
            ]
        )
    )


def statuses_failure(story: Story, message: MessageState, expected: Sequence[str]) -> str | None:
    """Compare the statuses of a message's events."""
    events = story.engine.outbox.events_of(message.number)
    found = [event.status or "" for event in events]
    if found == list(expected):
        return None
    same = 0
    while same < min(len(found), len(expected)) and found[same] == expected[same]:
        same += 1
    if same == len(found):
        difference = f"missing from number {same + 1} on: {', '.join(expected[same:])}"
    elif same == len(expected):
        difference = f"not expected, from number {same + 1} on: {', '.join(found[same:])}"
    else:
        difference = f"number {same + 1} is {found[same]}, and {expected[same]} was expected"
    labels, causes = _evidence(story)
    story.named.append(message)
    label = labels.message(message)
    likely = causes.of_statuses(message, expected[same : same + 1], found[same : same + 1])
    return labels.clean(
        "\n".join(
            [
                f"statuses of {label}, message {message.id}, differ: {difference}",
                f"  expected  {', '.join(expected) or '(none)'}",
                f"  found     {', '.join(found) or '(none)'}",
                *_as_far_as_it_goes(likely),
                "Its events:",
                _events_table(events),
            ]
        )
    )


def requests_failure(story: Story, method: str, path: str, times: int | None) -> str | None:
    """Compare how often something was asked of the API."""
    log = story.api._log
    found = sum(1 for one in log if (one.method, one.path) == (method, path))
    if found == times or (times is None and found):
        return None
    labels, causes = _evidence(story)
    wanted = "at least once" if times is None else _times(times)
    likely = causes.of_silence(story.api, method, path) if times is None or found < times else ()
    return labels.clean(
        "\n".join(
            [
                f"{method} {path} was requested {_times(found)}, and {wanted} was expected",
                *_as_far_as_it_goes(likely),
                "Requested were:",
                table([[str(one)] for one in log]),
            ]
        )
    )


def _evidence(story: Story) -> tuple[Labels, Causes]:
    labels = story.labels
    return labels, Causes(story.engine, labels, Reasoning(story, labels), story.named)


def _as_far_as_it_goes(likely: Iterable[str]) -> Iterator[str]:
    """Give sentences about the cause: what was found is a failure even if they can't be had."""
    try:
        yield from likely
    except Exception as error:
        yield f"The cause can't be told: {type(error).__name__}: {text_of(error)}."


def _ledger_table(story: Story, labels: Labels, entries: Iterable[LedgerEntry]) -> str:
    """Write ledger entries, one a line: when, what, how much, for which message."""

    def label(entry: LedgerEntry) -> str:
        message = story.engine.account.find(entry.message_id or "")
        return "" if message is None else labels.message(message)

    return table(
        (stamp(entry.moment), entry.kind, number(entry.amount), label(entry)) for entry in entries
    )


def _events_table(events: Iterable[Event]) -> str:
    """Write events, one a line: when, status, id, and the line that caused it."""
    return table(
        (stamp(event.moment), event.status or event.type, event.id, f"at {event.line}")
        for event in events
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{cited(count)} times"
