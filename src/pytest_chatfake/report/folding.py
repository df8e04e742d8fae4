"""A long timeline, made short: what comes again and again is folded, then the middle of the rest.

What is kept of the middle is what a failed expectation names, and the first of each odd thing.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from ..base.views import counted
from ..domain.messages import MessageState
from .entries import Entry
from .trace import Trace

#: How many rows are shown of the beginning and of the end; and between them, of what is named, and
#: of what is odd.
_FIRST: Final = 16
_LAST: Final = 16
_NAMED: Final = 16
_ODD: Final = 8

#: How many entries of the beginning and of the end are looked at, to find what comes again.
_READ: Final = 400

#: How many entries may come again, how often they come at least, and how many lines that saves.
_LONGEST: Final = 40
_TIMES: Final = 3
_SAVED: Final = 10


class Fold(NamedTuple):
    """A row in place of entries that are not shown.

    Attributes:
        start: The place of the first of them.
        stop: The place after the last one.
        text: What the row says.
    """

    start: int
    stop: int
    text: str


Row: TypeAlias = Entry | Fold


def folded(trace: Trace, start: int, named: Collection[MessageState]) -> list[Row]:
    """Return the rows of a timeline.

    Args:
        trace: What happened.
        start: The first entry that is told.
        named: The messages that matter most: what is about them is kept.
    """
    end = trace.read()
    head = _without_repeats(trace.entries(start, start + _READ), named)
    if start + _READ >= end and len(head) <= _FIRST + _LAST:
        return head
    head = head[:_FIRST]
    first = _stop(head[-1])
    tail = _without_repeats(trace.entries(max(first, end - _READ), end), named)[-_LAST:]
    last = tail[0].start if isinstance(tail[0], Fold) else tail[0].number - 1
    return [*head, *_middle(trace, first, last, named), *tail]


def _stop(row: Row) -> int:
    return row.stop if isinstance(row, Fold) else row.number


# What comes again


def _without_repeats(entries: Sequence[Entry], named: Collection[MessageState]) -> list[Row]:
    """Fold entries that come again and again, alike but for their messages."""
    known: dict[Hashable, int] = {}
    kinds = [
        known.setdefault((one.likeness, one.state in named and one.state), len(known))
        for one in entries
    ]
    rows: list[Row] = []
    place = 0
    while place < len(entries):
        length, times = _repetition(kinds, place)
        rows += entries[place : place + length]
        if times > 1:
            rows.append(_again(entries[place + length : place + length * times], times - 1))
        place += length * times
    return rows


def _repetition(kinds: Sequence[int], start: int) -> tuple[int, int]:
    """Return how many entries come again from a place on, and how often they come: 1, if none."""
    found, most = (1, 1), _SAVED
    for length in range(1, min(_LONGEST, (len(kinds) - start) // _TIMES) + 1):
        same = start
        while same + length < len(kinds) and kinds[same] == kinds[same + length]:
            same += 1
        times = 1 + (same - start) // length
        if times >= _TIMES and (times - 1) * length > most:
            found, most = (length, times), (times - 1) * length
    return found


def _again(entries: Sequence[Entry], times: int) -> Fold:
    numbers = sorted({one.state.number for one in entries if one.state is not None})
    about = ""
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        about = f", for m{numbers[0]} to m{numbers[-1]}"
    start, stop = entries[0].number, entries[-1].number
    text = f"... the same {counted(times, 'time')} more{about}: {start} to {stop} ..."
    return Fold(start - 1, stop, text)


# The middle


def _middle(trace: Trace, first: int, last: int, named: Collection[MessageState]) -> Iterator[Row]:
    """Give what is kept between two places; a row stands for what is left out, by its kinds."""
    about = (entry for message in named for entry in trace.of(message))
    odd = {entry.likeness: entry for entry in reversed(trace.odd(first))}
    kept: dict[int, Entry] = {}
    for matters, most in ((sorted(about), _NAMED), (sorted(odd.values()), _ODD)):
        between = [entry for entry in matters if first < entry.number <= last]
        kept |= {entry.number: entry for entry in between[:most]}
    for number in sorted(kept):
        yield from _left_out(trace, first, number - 1)
        yield kept[number]
        first = number
    yield from _left_out(trace, first, last)


def _left_out(trace: Trace, start: int, stop: int) -> Iterator[Fold]:
    if counts := trace.count(start, stop):
        kinds = ", ".join(
            counted(count, kind, "moves of the clock" if kind == "clock" else None)
            for kind, count in counts.items()
        )
        yield Fold(start, stop, f"... {stop - start:,} left out: {kinds} ...")
