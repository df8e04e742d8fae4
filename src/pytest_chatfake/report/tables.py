"""Evidence as aligned text: what a failed expectation shows below its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..domain.instants import stamp
from ..domain.ledger import LedgerEntry
from ..webhooks.events import Event
from ..wire.exact_json import number

#: How many rows a failure shows before it cuts the middle out.
_MAX_ROWS = 30


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Align rows in columns; a long table is cut in the middle, and says so."""
    lines = [tuple(row) for row in rows]
    if not lines:
        return f"{indent}(none)"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        indent
        + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if len(texts) > _MAX_ROWS:
        half = _MAX_ROWS // 2
        left_out = f"{indent}... {len(texts) - 2 * half} more ..."
        texts = [*texts[:half], left_out, *texts[-half:]]
    return "\n".join(texts)


def ledger_table(entries: Iterable[LedgerEntry]) -> str:
    """Write ledger entries, one a line: when, what, how much, for which message."""
    return table(
        (stamp(entry.moment), entry.kind, number(entry.amount), entry.message_id or "")
        for entry in entries
    )


def events_table(events: Iterable[Event]) -> str:
    """Write events, one a line: when, status, id, and the line that caused it."""
    return table(
        (stamp(event.moment), event.status or event.type, event.id, f"at {event.line}")
        for event in events
    )
