"""The timeline as a picture: its lines, next to lanes for who acts on whom, and the balance.

The text has a fixed size; a page that is too narrow scrolls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from ..base.escaping import escape
from ..base.faults import BaseFault
from ..base.history import Record
from ..base.views import counted
from ..domain.ledger import Ledger
from ..domain.messages import MessageState
from ..engine.records import ClockRecord, VerbRecord
from ..http_api.account_api import ApiRequest
from ..webhooks.attempts import Attempt
from ..wire.exact_json import number
from .entries import has_failed, is_odd, number_of
from .folding import TimelineRow, rows_of
from .labels import Labels
from .story import Story
from .timeline_text import aligned, cells_of, heading, legend

#: In pixels: the heights of a line, of the gap around a row, and of the head; the widths of a
#: letter, of the narrowest lane, and of an amount; and the amplitude of an amount's line.
_LINE: Final = 16
_GAP: Final = 5
_HEAD: Final = 52
_LETTER: Final = 7.25
_LANE: Final = 64
_AMOUNT: Final = 88
_SWING: Final = 24

#: The maximum number of letters in a line, after number, time and kind.
_WIDEST: Final = 56

#: Not only by colour: a mark is a diamond, and a failure is a cross.
_SHAPES: Final = {"": "h0", "odd": "m-7 0l7-7 7 7-7 7z", "bad": "m-5-5l10 10m0-10l-10 10"}

#: For light and dark mode; every text has a contrast of at least 4.5.
STYLE: Final = """
.cf{--ink:#1d2126;--dim:#586069;--line:#d5dae0;--paper:#fff;--panel:#f5f7f9;--accent:#0a58ca;
--good:#0b6b2f;--bad:#b00020;--odd:#7a4b00}
@media screen and (prefers-color-scheme:dark){.cf{--ink:#e8eaed;--dim:#a8b0b9;--line:#3b424a;
--paper:#14171a;--panel:#1d2125;--accent:#8ab4f8;--good:#6fd08c;--bad:#ff8f8f;--odd:#f0b860}}
svg.cf{font:12px ui-monospace,Menlo,Consolas,monospace;display:block}
.cf text{fill:var(--ink);white-space:pre}.cf text.dim,.cf .dim text{fill:var(--dim)}
.cf rect{fill:var(--paper)}.cf .head{font-weight:700}.cf .lane{text-anchor:middle}
.cf path{fill:none;stroke:var(--ink);stroke-width:1.5}.cf path.lanes{stroke:var(--line)}
.cf .at{stroke-width:9;stroke-linecap:round}.cf .bad .at{stroke-width:3}
.cf .bad path{stroke:var(--bad)}.cf .bad text{fill:var(--bad)}
.cf .odd path{stroke:var(--odd)}.cf .odd text{fill:var(--odd)}
.cf .odd .at{stroke-width:0;fill:var(--odd)}.cf path.money{stroke:var(--accent);stroke-width:2}
.cf g path.row{stroke:none;pointer-events:all}.cf g{outline:0}
.cf g:hover .row,.cf g:focus .row,.cf .lit .row{fill:var(--accent);fill-opacity:.14}
@media print{svg.cf{max-width:100%;height:auto}}
""".replace("\n", "")


def svg(
    story: Story,
    start: int = 0,
    *,
    labels: Labels | None = None,
    mentioned: Collection[MessageState] = (),
    styled: bool = True,
) -> str:
    """Draw a timeline: the folded text and, next to each row, what it does.

    Args:
        story: The fake's story.
        start: The first entry to draw.
        labels: The short names, if a text uses them as well.
        mentioned: The messages that matter most, as in the text.
        styled: Whether the picture includes its style; several pictures on a page need ``STYLE``
            once.
    """
    trace, labels = story.trace, labels or story.labels
    rows = _placed(rows_of(trace, start, mentioned), labels, trace.begun)
    shown = [row.entry for row in rows if row.entry is not None]
    head, explained = heading(story.engine, trace.begun), [*legend(labels, shown)]
    lanes = _Lanes(shown, labels, _room_for(line for row in rows for line in row.lines))
    width = max(lanes.right + 3 * _AMOUNT, _room_for([head, *explained]))
    bottom = rows[-1].bottom if rows else _HEAD
    height = bottom + _LINE * len(explained) + 12
    numbers = {number_of(entry) for entry in shown}
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="cf" role="list"',
        f' aria-label="chat_fake timeline: {counted(len(trace) - start, "entry", "entries")}"',
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>" * styled,
        f'<rect width="{width}" height="{height}"/>',
        _text("dim", 14, 18, head),
        *lanes.drawn(bottom),
        *(_drawn(row, width, lanes, numbers) for row in rows),
        *_money(story.engine.account.ledger, trace.postings, rows, lanes.right),
        *(_text("dim", 0, bottom + _LINE * at, line) for at, line in enumerate(explained, 1)),
        "</svg>",
    ]
    return "".join(parts)


class _Row(NamedTuple):
    """A row of a picture: its entry, or None for a text in place of some, its lines, its edges."""

    entry: Record | None
    lines: list[str]
    top: int
    bottom: int


def _placed(rows: Sequence[TimelineRow], labels: Labels, begun: int) -> list[_Row]:
    # The columns before the texts are aligned, and long texts are broken.
    cells = cells_of([row for row in rows if isinstance(row, Record)], labels, begun)
    heads = aligned([head for *head, _ in cells], right=2)
    indent = " " * (max(map(len, heads), default=0) + 2)
    entries = iter(
        [
            _broken(text, head.ljust(len(indent)), indent)
            for head, (*_, text) in zip(heads, cells, strict=True)
        ]
    )
    placed: list[_Row] = []
    top = _HEAD
    for row in rows:
        entry = row if isinstance(row, Record) else None
        lines = _broken(row, "  ", "  ") if isinstance(row, str) else next(entries)
        bottom = top + _LINE * len(lines) + _GAP
        placed.append(_Row(entry, lines, top, bottom))
        top = bottom
    return placed


def _broken(text: str, head: str, indent: str) -> list[str]:
    width = _WIDEST + len(indent)
    return wrap(text, width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)


def _drawn(row: _Row, width: int, lanes: _Lanes, numbers: Collection[int]) -> str:
    tone, links, arrow = "dim", "", ""
    if (entry := row.entry) is not None:
        tone = "bad" if has_failed(entry) else "odd" if is_odd(entry) else ""
        links, arrow = _links(entry, numbers), lanes.arrow(entry, tone)
    lines = (_text("", 0, 15 + _LINE * at, line + " ") for at, line in enumerate(row.lines))
    return (
        f'<g class="{tone}" role="listitem" tabindex="0"{links} transform="translate(0 {row.top})">'
        f'<path class="row" d="M0 0h{width}v{row.bottom - row.top}H0z"/>{"".join(lines)}{arrow}</g>'
    )


class _Lanes:
    """The lanes of a picture, from left to right: the test, the fake, apps, and people's phones."""

    def __init__(self, shown: Sequence[Record], labels: Labels, left: int) -> None:
        self._labels = labels
        endpoints = dict.fromkeys(entry.endpoint for entry in shown if isinstance(entry, Attempt))
        apps = [endpoint for endpoint in endpoints if not endpoint._is_receiver]
        # With several apps, the requester is unknown.
        self._app = labels.endpoint(apps[0]) if len(apps) == 1 else "app"
        begins = [name for name in map(self._begin, shown) if name != "phone"]
        self._middles: dict[str, int] = {}
        self.right: int = left
        for name in dict.fromkeys(
            ["test", "chat_fake", *map(labels.endpoint, endpoints), *begins, "phone"]
        ):
            half = max(_LANE, round(_LETTER * (len(name) + 2))) // 2
            self._middles[name] = self.right + half
            self.right += 2 * half
        self.right += _LANE // 4

    def drawn(self, bottom: int) -> Iterator[str]:
        for name, x in self._middles.items():
            yield _text("head lane", x, _HEAD - 12, name)
            yield f'<path class="lanes" d="M{x} {_HEAD}V{bottom}"/>'

    def arrow(self, entry: Record, tone: str) -> str:
        # The arrow starts in the lane of the party that acted. It ends halfway if a fault kept an
        # attempt from the app.
        start, stop = self._middles[self._begin(entry)], self._middles["chat_fake"]
        if isinstance(entry, Attempt):
            stop = self._middles[self._labels.endpoint(entry.endpoint)]
            if entry._ended and entry._meaning.unseen:
                stop = (start + stop) // 2
        mark = f'<path class="at" d="M{stop} 11{_SHAPES[tone]}"/>'
        if start == stop:
            return mark
        step = 7 if start < stop else -7
        tip = stop - step if tone else stop
        arrow = f'<path class="go" d="M{start} 11H{tip}m{-step}-4l{step} 4 {-step} 4"/>'
        return arrow + mark * bool(tone)

    def _begin(self, entry: Record) -> str:
        match entry:
            case VerbRecord(is_by_person=True):
                return "phone"
            case VerbRecord(_cause=Attempt(endpoint=endpoint)):
                return self._labels.endpoint(endpoint)
            case ApiRequest() | VerbRecord(_cause=ApiRequest()):
                return self._app
            case VerbRecord() | ClockRecord() | BaseFault():
                return "test"
            case _:
                return "chat_fake"


def _links(entry: Record, numbers: Collection[int]) -> str:
    # The nearest cause that is shown, so that a page can highlight a cause and its effects.
    cause = entry._cause
    while cause is not None and number_of(cause) not in numbers:
        cause = cause._cause
    caused = "" if cause is None else f' data-cause="{number_of(cause)}"'
    return f' data-number="{number_of(entry)}"{caused}'


def _money(
    ledger: Ledger, postings: Sequence[int], rows: Sequence[_Row], left: int
) -> Iterator[str]:
    # Each amount has a line with its own scale, and its value wherever that changes. `postings` has
    # the number of the ledger's postings up to each entry.
    posted = [(row.top, postings[number_of(row.entry)]) for row in rows if row.entry is not None]
    names, amounts = ("available", "held", "charged"), zip(*ledger.running(), strict=True)
    for name, values in zip(names, amounts, strict=True):
        least, most = float(min(values)), float(max(values))
        path, before = "", None
        yield _text("head", left, _HEAD - 12, name)
        for top, count in posted:
            value = values[count - 1]
            if value != before:
                x = left + round((float(value) - least) / (most - least or 1) * _SWING)
                path += f"V{top + 11}H{x}" if path else f"M{x} {_HEAD}"
                yield _text("dim", left + _SWING + 8, top + 15, number(value))
            before = value
        yield f'<path class="money" d="{path}V{rows[-1].bottom}"/>' if path else ""
        left += _AMOUNT


def _room_for(lines: Iterable[str]) -> int:
    return 16 + round(_LETTER * max(map(len, lines), default=0))


def _text(name: str, x: int, y: int, text: str) -> str:
    styled = f' class="{name}"' if name else ""
    return f'<text{styled} x="{x}" y="{y}">{escape(text)}</text>'
