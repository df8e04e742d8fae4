"""Shortens a long timeline: folds repetitions first, then the middle of the rest.

The middle keeps entries that a failed expectation names, and the first entry of each odd kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeAlias

from ..base.history import Record
from ..base.views import counted
from ..domain.messages import MessageState
from .entries import fold_key, kind_of, number_of, pointer_to
from .trace import Trace

#: An entry, or a text in place of omitted entries.
TimelineRow: TypeAlias = Record | str

#: Repetitions are only folded in timelines up to this length, and only if few enough rows remain.
#: Otherwise, the middle is folded.
_READ: Final = 500
_ROWS: Final = 50

#: The maximum length of a repetition, the minimum number of repeats, and of rows to save.
_LONGEST: Final = 40
_TIMES: Final = 3
_SAVED: Final = 10

#: How many rows remain when the middle is folded: the first, the last, and in between, some about
#: mentioned messages and some odd ones.
_FIRST: Final = 12
_LAST: Final = 12
_MENTIONED: Final = 14
_ODD: Final = 8


def rows_of(trace: Trace, start: int, mentioned: Collection[MessageState]) -> list[TimelineRow]:
    """Return the rows of a timeline.

    Args:
        trace: What happened.
        start: The first entry to show.
        mentioned: The messages that matter most, whose entries are kept.
    """
    end = len(trace)
    if end - start <= _READ:
        rows = list(_without_repetitions(trace.records[start:], mentioned))
        if len(rows) <= _ROWS:
            return rows
    first, last = start + _FIRST, end - _LAST
    middle = _middle(trace, first, last, mentioned)
    return [*trace.records[start:first], *middle, *trace.records[last:end]]


# Repetitions


def _without_repetitions(
    entries: Sequence[Record], mentioned: Collection[MessageState]
) -> Iterator[TimelineRow]:
    # Repetitions may differ in their messages, unless these are mentioned.
    shapes = [
        (fold_key(entry), entry._message in mentioned and entry._message) for entry in entries
    ]
    start = 0
    while start < len(entries):
        length, times = _repetition(shapes, start)
        yield from entries[start : start + length]
        again = entries[start + length : start + length * times]
        if again:
            numbers = f"{pointer_to(again[0])} to {pointer_to(again[-1])}"
            yield f"... the same {times - 1} times more: {numbers} ..."
        start += length * times


def _repetition(shapes: Sequence[object], start: int) -> tuple[int, int]:
    # How many entries repeat from `start` on, and how often; (1, 1) if none do.
    found, most = (1, 1), _SAVED
    for length in range(1, min(_LONGEST, (len(shapes) - start) // _TIMES) + 1):
        same = start
        while same + length < len(shapes) and shapes[same] == shapes[same + length]:
            same += 1
        times = 1 + (same - start) // length
        if times >= _TIMES and (times - 1) * length > most:
            found, most = (length, times), (times - 1) * length
    return found


# The middle


def _middle(
    trace: Trace, first: int, last: int, mentioned: Collection[MessageState]
) -> Iterator[TimelineRow]:
    about = (entry for message in mentioned for entry in trace.of(message))
    odd = {fold_key(entry): entry for entry in reversed(trace.odd(first))}
    kept: dict[int, Record] = {}
    for matters, most in ((about, _MENTIONED), (odd.values(), _ODD)):
        in_order = sorted(matters, key=number_of)
        between = [entry for entry in in_order if first < number_of(entry) <= last]
        kept |= {number_of(entry): entry for entry in between[:most]}
    for number in sorted(kept):
        yield from _left_out(trace, first, number - 1)
        yield kept[number]
        first = number
    yield from _left_out(trace, first, last)


def _left_out(trace: Trace, start: int, stop: int) -> Iterator[str]:
    if counts := Counter(map(kind_of, trace.records[start:stop])):
        kinds = ", ".join(
            counted(count, kind, "clock moves" if kind == "clock" else None)
            for kind, count in counts.items()
        )
        yield f"... {stop - start:,} left out: {kinds} ..."
