"""The texts of failed expectations.

Each function compares, and returns None if the expectation holds. A text says what was expected and
what happened instead, the likely cause and the fix if they are known, and the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Final, Literal, TypeAlias, TypeVar

from ..base.tracebacks import text_of
from ..base.views import counted
from ..domain.instants import stamp
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..webhooks.events import Event
from ..wire.exact_json import number
from .diagnosis import Diagnosis
from .labels import Labels
from .story import Story
from .timeline_text import aligned

#: The amounts that a test can expect; the last two also for one message.
Figure: TypeAlias = Literal["available", "held", "charged"]

_T = TypeVar("_T")

#: The maximum number of rows of evidence; a longer table loses its middle.
_MAX_ROWS: Final = 12


def amount_failure(
    story: Story, what: Figure, expected: Decimal, message: MessageState | None
) -> str | None:
    ledger = story.engine.account.ledger
    found: Decimal = getattr(ledger if message is None else message, what)
    if found == expected:
        return None
    diagnosis, name = Diagnosis(story), "the account"
    if message is None:
        causes = diagnosis.of_total(what, expected, found, story.engine.account.messages)
    else:
        causes = diagnosis.of_charge(message) if what == "charged" else diagnosis.of_hold(message)
        name = f"{diagnosis.labels.message(message)}, message {message.id}"
        story.mention(message)
    entries = [entry for entry in ledger.entries if message is None or entry._message is message]
    verb = {"available": "Available on", "held": "Held for", "charged": "Charged to"}[what]
    heading = f"{verb} {name}, according to the ledger:"
    return _money_failure(diagnosis, what, expected, found, causes, heading, entries)


def charge_failure(
    story: Story, expected: Decimal, found: Decimal, entries: Sequence[LedgerEntry]
) -> str | None:
    if found == expected:
        return None
    diagnosis, what = Diagnosis(story), "charged in the block"
    about = (entry._message for entry in entries)
    messages = [*dict.fromkeys(message for message in about if message is not None)]
    causes = diagnosis.of_total(
        "charged", expected, found, messages or story.engine.account.messages
    )
    heading = "Posted in the block:"
    return _money_failure(diagnosis, what, expected, found, causes, heading, entries)


def _money_failure(
    diagnosis: Diagnosis,
    what: str,
    expected: Decimal,
    found: Decimal,
    causes: Iterable[str],
    heading: str,
    entries: Sequence[LedgerEntry],
) -> str:
    engine, labels = diagnosis.story.engine, diagnosis.labels

    def row(entry: LedgerEntry) -> list[str]:
        message = entry._message
        name = "" if message is None else labels.message(message)
        return [stamp(entry.moment), entry.kind, number(entry.amount), name]

    currency = engine.settings.currency
    difference = f"{what}: expected {number(expected)} {currency}, got {number(found)} {currency}"
    return _failure(labels, difference, causes, heading, _table(entries, row))


def statuses_failure(story: Story, message: MessageState, expected: Sequence[str]) -> str | None:
    events = story.engine.outbox.events_of(message)
    found = [event.status or "" for event in events]
    if found == list(expected):
        return None
    pairs = enumerate(zip_longest(expected, found), 1)
    ordinal, wanted, got = next((at, *pair) for at, pair in pairs if len({*pair}) > 1)
    story.mention(message)
    diagnosis = Diagnosis(story)
    return _failure(
        diagnosis.labels,
        f"status {ordinal} of {diagnosis.labels.message(message)}, message {message.id}: "
        f"expected {wanted or 'nothing'}, got {got or 'nothing'}\n"
        f"  expected  {', '.join(expected) or '(none)'}\n"
        f"  got       {', '.join(found) or '(none)'}",
        diagnosis.of_statuses(message, wanted, got),
        "Its events:",
        _table(events, _event_row),
    )


def requests_failure(story: Story, method: str, path: str, times: int | None) -> str | None:
    log = story.api._log
    found = sum(1 for request in log if (request.method, request.path) == (method, path))
    if found == times or (times is None and found):
        return None
    wanted = "at least 1 request" if times is None else counted(times, "request")
    too_few = times is None or found < times
    diagnosis = Diagnosis(story)
    return _failure(
        diagnosis.labels,
        f"{method} {path}: expected {wanted}, got {found}",
        diagnosis.of_silence(path) if too_few else (),
        "The requests were:",
        _table(log, lambda request: [str(request)]),
    )


def _failure(
    labels: Labels, difference: str, causes: Iterable[str], heading: str, evidence: str
) -> str:
    return labels.clean("\n".join([difference, *_guarded(causes), heading, evidence]))


def _guarded(causes: Iterable[str]) -> Iterator[str]:
    # Our own error must not hide the failure itself.
    try:
        yield from causes
    except Exception as error:
        yield f"The cause can't be shown: {type(error).__name__}: {text_of(error)}."


def _event_row(event: Event) -> list[str]:
    return [stamp(event.moment), event.status or event.type, event.id, event.line.place]


def _table(records: Sequence[_T], cells: Callable[[_T], Sequence[str]]) -> str:
    half, left = _MAX_ROWS // 2, len(records) - _MAX_ROWS
    shown = [*records[:half], *records[-half:]] if left > 0 else records
    lines = aligned([cells(record) for record in shown])
    if left > 0:
        lines.insert(half, f"  ... {left} more ...")
    return "\n".join(lines) or "  (none)"
