"""The timeline as text: one aligned line per entry, folded if long."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Final

from ..base.arguments import cited
from ..base.faults import BaseFault
from ..base.history import Record
from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..engine.engine import Engine
from ..engine.records import ClockRecord, DropRecord, VerbRecord
from ..http_api.account_api import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from ..wire.exact_json import number
from .entries import (
    amount_of,
    has_failed,
    is_retry,
    is_unused,
    kind_of,
    line_of,
    number_of,
    pointer_to,
)
from .folding import TimelineRow, rows_of
from .hints import beginning, beginning_of_body, hint
from .labels import Labels
from .story import Story

_DAY: Final = 86_400 * SECOND

_SHORT: Final = {"hours": "h", "minutes": "min", "seconds": "s"}

#: The maximum number of messages in a folded timeline's legend.
_EXPLAINED: Final = 10


# One entry


def entry_text(entry: Record, labels: Labels, *, hinted: bool = False) -> str:
    """Return what happened on one line, without secrets and without marks.

    With ``hinted``, it also says what a failed response's status may mean.
    """
    return labels.clean_line(_text(entry, labels, hinted))


def shown_marks(entry: Record, labels: Labels) -> list[str]:
    """Return what a fault, a block or a retry did to an entry, each in square brackets."""
    marks = [str(mark) for mark in entry._marks]
    if isinstance(entry, Attempt) and is_retry(entry):
        retry, planned = entry.number - 1, len(entry.endpoint._retries)
        of = f" of {planned}" if retry == entry._retried else ""  # or a fault has caused one
        marks.append(f"[retry {retry}{of}]")
    if is_unused(entry):
        marks.append("[unused]")
    return [*map(labels.clean_line, marks)]


def _text(entry: Record, labels: Labels, hinted: bool) -> str:
    match entry:
        case VerbRecord() as verb:
            posted = "" if verb.posted is None else f" {verb.posted.amount:+f}"
            return f"{_verb(verb, labels)}{posted}"
        case LedgerEntry() as posted:
            label = "" if entry._message is None else f" {labels.message(entry._message)}"
            return f"{number(posted.amount)}{label}"
        case Event() as event:
            return event._name + ("" if event._is_posted else " (not posted, as outbound= says)")
        case Attempt() as attempt:
            to = f"{labels.endpoint(attempt.endpoint)}{attempt._place}"
            return f"{attempt.event._name} -> {to}: {_outcome(attempt, hinted)}"
        case ApiRequest() as request:
            body = (
                f" {beginning_of_body(request.body)}" if has_failed(entry) and request.body else ""
            )
            repeat, after = request._repeat, request._last_attempt
            first = f", see {pointer_to(repeat.first)}" if repeat else ""
            early = (
                f", the webhook ({pointer_to(after)}) arrived before the response" if after else ""
            )
            return f"{request}{first}{body}{early}"
        case ClockRecord() as move:
            return f"{move.what} by {length(move.end - move.moment)}"
        case DropRecord(_message=message):
            return f"{labels.message(message)} was not delivered in time; no event"
        case BaseFault() as fault:
            return fault.description
        case _:
            raise TypeError(f"the timeline has no words for {cited(entry)}")


def _verb(verb: VerbRecord, labels: Labels) -> str:
    match verb.subject:
        case MessageState() as message:
            return f"{verb.what} {labels.message(message)}"
        case Event() as event:
            return f"{verb.what} {event._name}"
        case PersonFact() as fact if verb.what == "recipient()":
            before, after = fact.before._asdict(), fact.after._asdict()
            changed = {name: new for name, new in after.items() if new != before[name]}
            given = "".join(f", {name}={new!r}" for name, new in changed.items())
            return f"recipient({fact.after.address!r}{given})"
        case PersonFact() as fact:
            return f"{verb.what} {fact.after.address}"
        case _:
            return verb.what


def _outcome(attempt: Attempt, hinted: bool) -> str:
    if not attempt._ended:
        return "no response yet"
    if attempt.error is not None or not attempt._was_made:
        return beginning(attempt.outcome)
    if attempt.ok:
        return str(attempt.status_code)
    meaning = hint(attempt) if hinted else ""
    return f"{attempt.status_code}{meaning} {beginning_of_body(attempt.body)}".rstrip()


def units(nanoseconds: int) -> dict[str, float]:
    """Split a duration into days, hours, minutes and seconds, without zeros."""
    seconds, rest = divmod(nanoseconds, SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds + rest / SECOND}
    return {name: count for name, count in parts.items() if count} or {"seconds": 0}


def length(nanoseconds: int) -> str:
    """Return a duration as a person writes it: ``30 days``, ``1 h 30 min``, ``0.5 s``."""
    return " ".join(
        f"{count:,g} {_SHORT.get(name, 'day' if count == 1 else 'days')}"
        for name, count in units(nanoseconds).items()
    )


# A whole timeline


def timeline_text(
    story: Story,
    start: int = 0,
    *,
    labels: Labels | None = None,
    mentioned: Collection[MessageState] = (),
    folded: bool = True,
) -> str:
    """Return a timeline: the balance, one line per entry, and a legend of the labels.

    Args:
        story: The fake's story.
        start: The first entry to show.
        labels: The short names, if a text above uses them: the legend explains those as well.
        mentioned: The messages that matter most, whose entries are not folded.
        folded: Whether to fold a long timeline.
    """
    trace, labels = story.trace, labels or story.labels
    rows = rows_of(trace, start, mentioned) if folded else list[TimelineRow](trace.records[start:])
    if not rows:
        return "nothing happened"
    begun = trace.begun
    shown = [row for row in rows if isinstance(row, Record)]
    lines = iter(lines_of(shown, labels, begun))
    return "\n".join(
        [
            heading(story.engine, begun),
            *(next(lines) if isinstance(row, Record) else f"  {row}" for row in rows),
            *legend(labels, shown, _EXPLAINED if folded else len(shown)),
        ]
    )


def heading(engine: Engine, begun: int) -> str:
    ledger, currency = engine.account.ledger, engine.settings.currency
    return (
        f"available {number(ledger.available)}, held {number(ledger.held)}, "
        f"charged {number(ledger.charged)} {currency}; times are from {stamp(begun)}"
    )


def lines_of(shown: Sequence[Record], labels: Labels, begun: int) -> list[str]:
    return aligned(cells_of(shown, labels, begun), right=2)


def cells_of(shown: Sequence[Record], labels: Labels, begun: int) -> list[tuple[str, ...]]:
    """Return each entry's columns: number, time, kind, text. A repeated time is empty."""
    days = any(entry._began - begun >= _DAY for entry in shown)
    amounts = [number(amount) for amount in map(amount_of, shown) if amount is not None]
    width = max(map(len, amounts), default=0)
    rows: list[tuple[str, ...]] = []
    before = ""
    for entry in shown:
        time = _absolute(entry._began) if days else _relative(entry._began - begun)
        text = entry_text(entry, labels)
        if (amount := amount_of(entry)) is not None:
            text = text.rjust(len(text) + width - len(number(amount)))
        if (line := line_of(entry)) is not None:
            text += f"  {line.place}"
        what = " ".join([text, *shown_marks(entry, labels)])
        rows.append((str(number_of(entry)), "" if time == before else time, kind_of(entry), what))
        before = time
    return rows


def aligned(rows: Sequence[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return rows as aligned columns; the first ``right`` of them are flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.rjust] * right + [str.ljust] * (len(widths) - right)
    return [
        "  "
        + "  ".join(
            side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _relative(nanoseconds: int) -> str:
    sign = "-" if nanoseconds < 0 else "+"
    seconds, rest = divmod(abs(nanoseconds), SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{sign}{clock}:{seconds:02}.{rest // MILLISECOND:03}"


def _absolute(moment: int) -> str:
    return stamp(moment).replace("T", " ").removesuffix("Z")


def legend(labels: Labels, shown: Sequence[Record], most: int = _EXPLAINED) -> Iterator[str]:
    """Explain each label that is shown, but at most ``most`` messages."""
    messages = sorted(
        {entry._message for entry in shown if entry._message}, key=attrgetter("number")
    )
    explained, more = messages[:most], len(messages) - most
    events = [entry for entry in shown if isinstance(entry, Event)]
    endpoints = dict.fromkeys(entry.endpoint for entry in shown if isinstance(entry, Attempt))
    conversations = dict.fromkeys(map(labels.conversation_of, explained))
    names = [
        *map(labels.legend_of_message, explained),
        f"... and {more} more: see chat_fake.messages" if more > 0 else None,
        *dict.fromkeys(map(labels.legend_of_recorded, events)),
        *map(labels.legend_of_conversation, filter(None, conversations)),
        *map(labels.legend_of_endpoint, endpoints),
    ]
    yield from (f"  {labels.clean_line(name)}" for name in filter(None, names))
