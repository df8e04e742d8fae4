"""The texts with which expectations fail.

Each has what was expected and what was got, the likely cause and what to do about it where they are
known, and the nearest evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final, Literal, TypeAlias, TypeVar

from ..base.arguments import cited
from ..base.tracebacks import text_of
from ..domain.instants import stamp
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..webhooks.events import Event
from ..wire.exact_json import number
from .diagnosis import Diagnosis
from .labels import Labels
from .story import Story

#: What can be expected of the account; what is held and charged, of one message, too.
Figure: TypeAlias = Literal["available", "held", "charged"]

_T = TypeVar("_T")

#: How many rows of evidence are shown before the middle is cut out.
_MAX_ROWS: Final = 12


def amount_failure(
    story: Story, what: Figure, expected: Decimal, message: MessageState | None
) -> str | None:
    """Compare an amount of the account, or of one message."""
    ledger = story.engine.account.ledger
    subject = ledger if message is None else message
    found: Decimal = getattr(subject, what)
    if found == expected:
        return None
    diagnosis, name = Diagnosis(story), "the account"
    labels = diagnosis.labels
    if message is None:
        causes = diagnosis.of_total(what, expected, found)
    else:
        causes = diagnosis.of_charge(message) if what == "charged" else diagnosis.of_hold(message)
        name = f"{labels.message(message)}, message {message.id}"
        story.named.append(message)
    entries = [one for one in ledger.entries if message is None or one.message_id == message.id]
    verb = {"available": "Available on", "held": "Held for", "charged": "Charged to"}[what]
    return _failure(
        labels,
        _difference(story, what, expected, found),
        causes,
        f"{verb} {name}, by the ledger:",
        _ledger_table(story, labels, entries),
    )


def charge_failure(
    story: Story, expected: Decimal, found: Decimal, entries: Sequence[LedgerEntry]
) -> str | None:
    """Compare what a block charged."""
    if found == expected:
        return None
    diagnosis = Diagnosis(story)
    return _failure(
        diagnosis.labels,
        _difference(story, "charged in the block", expected, found),
        diagnosis.of_total("charged", expected, found),
        "Posted in the block:",
        _ledger_table(story, diagnosis.labels, entries),
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
    missing, instead = expected[same:], found[same:]
    if not instead:
        difference = f"missing from number {same + 1} on: {', '.join(missing)}"
    elif not missing:
        difference = f"not expected, from number {same + 1} on: {', '.join(instead)}"
    else:
        difference = f"number {same + 1}: expected {missing[0]}, got {instead[0]}"
    story.named.append(message)
    diagnosis = Diagnosis(story)
    return _failure(
        diagnosis.labels,
        f"statuses of {diagnosis.labels.message(message)}, message {message.id}: {difference}\n"
        f"  expected  {', '.join(expected) or '(none)'}\n"
        f"  got       {', '.join(found) or '(none)'}",
        diagnosis.of_statuses(message, missing[:1], instead[:1]),
        "Its events:",
        _table(events, _event_row),
    )


def requests_failure(story: Story, method: str, path: str, times: int | None) -> str | None:
    """Compare how often something was asked of the API."""
    log = story.api._log
    found = sum(1 for one in log if (one.method, one.path) == (method, path))
    if found == times or (times is None and found):
        return None
    wanted = "at least 1" if times is None else cited(times)
    too_few = times is None or found < times
    diagnosis = Diagnosis(story)
    return _failure(
        diagnosis.labels,
        f"requests of {method} {path}: expected {wanted}, got {found}",
        diagnosis.of_silence(method, path) if too_few else (),
        "The requests were:",
        _table(log, lambda one: [str(one)]),
    )


def _failure(
    labels: Labels, difference: str, causes: Iterable[str], heading: str, evidence: str
) -> str:
    return labels.clean("\n".join([difference, *_as_far_as_it_goes(causes), heading, evidence]))


def _as_far_as_it_goes(causes: Iterable[str]) -> Iterator[str]:
    """Give sentences about the cause: the difference is a failure even if they can't be had."""
    try:
        yield from causes
    except Exception as error:
        yield f"The cause can't be told: {type(error).__name__}: {text_of(error)}."


def _difference(story: Story, what: str, expected: Decimal, found: Decimal) -> str:
    currency = story.engine.settings.currency
    return f"{what}: expected {number(expected)} {currency}, got {number(found)} {currency}"


def _ledger_table(story: Story, labels: Labels, entries: Sequence[LedgerEntry]) -> str:
    """Write ledger entries, one a line: when, what, how much, for which message."""

    def row(entry: LedgerEntry) -> list[str]:
        id_ = entry.message_id
        message = None if id_ is None else story.engine.account.find(id_)
        name = "" if message is None else labels.message(message)
        return [stamp(entry.moment), entry.kind, number(entry.amount), name]

    return _table(entries, row)


def _event_row(event: Event) -> list[str]:
    """Write an event: when, status, id, and the line that caused it."""
    return [stamp(event.moment), event.status or event.type, event.id, event.line.place]


def _table(records: Sequence[_T], cells: Callable[[_T], Sequence[str]]) -> str:
    """Write records in aligned columns; a long table is cut in the middle, and says so."""
    if not records:
        return "  (none)"
    half = len(records) if len(records) <= _MAX_ROWS else _MAX_ROWS // 2
    left = len(records) - 2 * half
    rows = [cells(one) for one in (*records[:half], *(records[-half:] if left > 0 else ()))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if left > 0:
        lines.insert(half, f"  ... {left} more ...")
    return "\n".join(lines)
