"""Questions that reports ask about a record of any kind."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from ..base.calling_line import Line
from ..base.faults import BaseFault
from ..base.history import Record
from ..base.marks import Mark
from ..domain.ledger import LedgerEntry
from ..domain.reasons import Rule
from ..engine.records import ClockRecord, DropRecord, VerbRecord
from ..http_api.account_api import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event, OtherEvent
from ..webhooks.forgeries import forgery_of

RecordKind: TypeAlias = Literal[
    "verb", "hold", "charge", "release", "event", "attempt", "request", "clock", "drop", "fault"
]

_KINDS: Final[dict[type[Record], RecordKind]] = {
    VerbRecord: "verb",
    Event: "event",
    OtherEvent: "event",
    Attempt: "attempt",
    ApiRequest: "request",
    ClockRecord: "clock",
    DropRecord: "drop",
}


def kind_of(record: Record) -> RecordKind:
    """Return an entry's kind; for a ledger posting, the ledger's own word."""
    if isinstance(record, LedgerEntry):
        kind: RecordKind = record.kind  # type: ignore[assignment] # postings about no message are none
        return kind
    return _KINDS.get(type(record), "fault")


def number_of(record: Record) -> int:
    return record._index + 1


def pointer_to(record: Record) -> str:
    """Return a reference to an entry for sentences: ``#7``."""
    return f"#{number_of(record)}"


def amount_of(record: Record) -> Decimal | None:
    return record.amount if isinstance(record, LedgerEntry) else None


def line_of(record: Record) -> Line | None:
    """Return the test's line that asked for an entry; None if there is none, or it is unknown."""
    line = record.line if isinstance(record, (VerbRecord, ClockRecord, BaseFault)) else None
    return None if line is None or line.is_fallback else line


def cause_of(record: Record) -> Record | None:
    return record._cause


def marks_of(record: Record) -> tuple[Mark, ...]:
    return record._marks


def rule_of(record: Record) -> Rule | None:
    rule: Rule | None = record._rule
    return rule


def has_failed_itself(attempt: Attempt) -> bool:
    """Return whether an attempt ended with an error that no fault caused."""
    return attempt.error is not None and not (attempt.ok or attempt._meaning.wanted)


def has_failed(record: Record) -> bool:
    """Return whether a request or an attempt failed or, for a forgery, whether it got through.

    A failure that a fault asked for does not count.
    """
    if isinstance(record, Attempt):
        if (forgery := forgery_of(record)) is not None:
            return forgery.got_through
        is_fine = record.ok and record.error is None
        return record._ended and not (is_fine or record._meaning.wanted)
    if isinstance(record, ApiRequest) and record.status is not None:
        return not 200 <= record.status <= 299 and not record.marks
    return False


def is_retry(record: Record) -> bool:
    return isinstance(record, Attempt) and record.number > 1


def is_unused(record: Record) -> bool:
    return isinstance(record, BaseFault) and not record.fired


def is_overtaken(record: Record) -> bool:
    """Return whether an entry is a call whose webhooks were posted before its response."""
    return isinstance(record, ApiRequest) and record._last_attempt is not None


def is_repeated(record: Record) -> bool:
    """Return whether an entry is a call with an earlier call's idempotency key."""
    return isinstance(record, ApiRequest) and record._repeat is not None


def is_odd(record: Record) -> bool:
    match record:
        case Attempt():
            is_own = is_retry(record) or has_failed(record)
        case ApiRequest():
            is_own = has_failed(record) or is_overtaken(record) or is_repeated(record)
        case BaseFault():
            is_own = is_unused(record)
        case _:
            is_own = False
    return is_own or bool(record._marks)


def fold_key(record: Record) -> Hashable:
    """Return a key: of several entries with the same key, a report shows one.

    The key leaves out the message, the moment, and the words of a response or an error. It has the
    amount of a top-up.
    """
    marks = tuple((mark.kind, mark.line) for mark in record._marks)
    return (kind_of(record), record._rule, marks, *_own_fold_key(record))


def _own_fold_key(record: Record) -> tuple[Hashable, ...]:
    match record:
        case Attempt(event=event):
            outcome = record._ended, record.status_code, type(record.error), has_failed(record)
            return (event.type, event.status, record.endpoint, record.number, outcome)
        case Event():
            return (record.type, record.status)
        case ApiRequest():
            asked = record.method, record.path, record.accepted
            return (*asked, record.status, is_overtaken(record), is_repeated(record))
        case ClockRecord():
            return (record.what, record.line, record.end - record.moment)
        case VerbRecord(posted=posted):
            return (record.what, record.line, posted and posted.amount)
        case BaseFault():
            return (record.description, record.line, is_unused(record))
        case _:
            return (amount_of(record),)
