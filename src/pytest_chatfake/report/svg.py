"""The timeline as a picture: time runs down, a lane for each side, and the balance beside them.

The page of a run, pytest-html and a file show the same picture. Its letters have a fixed size: what
is too narrow for it lets it scroll.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..base.escaping import escape
from ..base.history import Record
from ..base.views import counted
from ..domain.ledger import Ledger
from ..engine.records import VerbRecord
from ..webhooks.attempts import Attempt
from ..wire.exact_json import number
from .entries import has_failed, has_reached_app, is_odd, kind_of, line_of, number_of
from .folding import folded
from .labels import Labels
from .story import Story
from .timeline_text import cells_of, marks_of, text_of

#: In pixels: the height of a row and of the head, and how wide a lane, an amount and a letter are.
_ROW: Final = 26
_HEAD: Final = 34
_LANE: Final = 150
_AMOUNT: Final = 100
_LETTER: Final = 7.25

#: How far the line of an amount moves, and how many letters there are between two lanes.
_SWING: Final = 28
_SHORT: Final = 18

#: What people do.
_BY_THE_PHONE: Final = frozenset(
    {
        *("deliver()", "read()", "goes_offline()", "comes_online()", "blocks()", "unblocks()"),
        *("opens_chat()", "closes_chat()"),
    }
)

#: What is marked has a shape of its own, too: a diamond, or a cross for what failed.
_SHAPES: Final = {"": "h0", "odd": "m-7 0l7-7 7 7-7 7z", "bad": "m-5-5l10 10m0-10l-10 10"}

#: In light and in dark; each text has a contrast of 4.5 and more on its ground.
STYLE: Final = """
.cf{--ink:#1d2126;--dim:#586069;--line:#d5dae0;--paper:#fff;--panel:#f5f7f9;--accent:#0a58ca;
--good:#0b6b2f;--bad:#b00020;--odd:#7a4b00}
@media screen and (prefers-color-scheme:dark){.cf{--ink:#e8eaed;--dim:#a8b0b9;--line:#3b424a;
--paper:#14171a;--panel:#1d2125;--accent:#8ab4f8;--good:#6fd08c;--bad:#ff8f8f;--odd:#f0b860}}
svg.cf{font:12px ui-monospace,Menlo,Consolas,monospace;display:block}
.cf text{fill:var(--ink);white-space:pre}.cf text.dim{fill:var(--dim)}.cf rect{fill:var(--paper)}
.cf .head{font-weight:700}.cf .lane{text-anchor:middle}.cf .back{text-anchor:end}
.cf path{fill:none;stroke:var(--ink);stroke-width:1.5}.cf path.lanes{stroke:var(--line)}
.cf .at{stroke-width:9;stroke-linecap:round}
.cf .bad path{stroke:var(--bad)}.cf .bad .at{stroke-width:3}.cf .bad .go{stroke-dasharray:5 3}
.cf .bad text{fill:var(--bad)}.cf .odd path{stroke:var(--odd)}.cf .odd text{fill:var(--odd)}
.cf .odd .at{stroke-width:0;fill:var(--odd)}.cf path.money{stroke:var(--accent);stroke-width:2}
.cf g path.hit{stroke:none;pointer-events:all}.cf g{outline:0}
.cf g:hover .hit,.cf g:focus .hit{fill:var(--accent);fill-opacity:.14}
.cf .tip{visibility:hidden;pointer-events:none}
.cf g path.box{fill:var(--paper);stroke:var(--accent)}.cf g .tip text{fill:var(--ink)}
.cf g:hover .tip,.cf g:focus .tip{visibility:visible}
@media print{svg.cf{max-width:100%;height:auto}}
""".replace("\n", "")


def svg(story: Story, start: int = 0, *, styled: bool = True) -> str:
    """Draw the rows of a timeline's folded text.

    Args:
        story: The fake's story.
        start: The first entry that is drawn.
        styled: Whether the picture has its style inside; a page has it once.
    """
    trace, labels = story.trace, story.labels
    rows = folded(trace, start, story.mentioned)
    shown = [row for row in rows if isinstance(row, Record)]
    cells = cells_of(shown, labels, trace.begun)
    apps = [labels.endpoint(entry.endpoint) for entry in shown if isinstance(entry, Attempt)]
    lanes = ["test", "chat_fake", *dict.fromkeys(apps), "phone"]
    left = 90 + round(_LETTER * max((len(time) for _, time, *_ in cells), default=0))
    money = left + _LANE * len(lanes) - 90
    width, height = money + 3 * _AMOUNT, _HEAD + _ROW * len(rows) + 10
    ledger, currency = story.engine.account.ledger, story.engine.settings.currency
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="cf" role="list"',
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>chat_fake timeline: {counted(len(trace) - start, 'entry', 'entries')}</title>",
        f"<desc>At the end {number(ledger.available)} {escape(currency)} are available, ",
        f"{number(ledger.held)} held and {number(ledger.charged)} charged.</desc>",
        f"<style>{STYLE}</style>" * styled,
        f'<rect width="{width}" height="{height}"/>',
    ]
    for x, name in zip(range(left, money, _LANE), lanes, strict=True):
        parts.append(f'<path class="lanes" d="M{x} {_HEAD}V{height}"/>')
        parts.append(_text("head lane", x, 20, _cut(name, _SHORT + 2)))
    posted: list[int] = []
    for row in rows:
        posted.append(trace.postings(number_of(row)) if isinstance(row, Record) else posted[-1])
    parts += _money(ledger, money, posted)
    rest = iter(cells)
    for index, row in enumerate(rows):
        tone = ""
        if isinstance(row, Record):
            tone = "bad" if has_failed(row) else "odd" if is_odd(row) else ""
            text, (place, time, kind, _) = text_of(row, labels), next(rest)
            marks = _text("dim", 8, 21, f"{place:>3}  {time}")
            label = text if line_of(row) or kind in {"verb", "request"} else f"{kind} {text}"
            if isinstance(row, Attempt):  # its lane says where it goes
                label = text.replace(f" -> {labels.endpoint(row.endpoint)}", "")
            marks += _arrow(left, *_ends(row, lanes, labels), tone, label)
            text = " ".join([place, kind, text, *marks_of(row, labels)])
        else:
            text, marks = row, _text("dim", 44, 21, row)
        parts += [
            f'<g class="{tone}" role="listitem" tabindex="0"',
            f' transform="translate(0 {_HEAD + _ROW * index})"><title>{escape(text)}</title>',
            f'<path class="hit" d="M0 0h{width}v{_ROW}H0z"/>{marks}',
            f"{_tip(_cut(text, int((width - 32) / _LETTER)))}</g>",
        ]
    return "".join([*parts, "</svg>"])


def _money(ledger: Ledger, left: int, posted: Sequence[int]) -> Iterator[str]:
    """Draw a line for each amount, in a scale of its own, with its value where that changes."""
    names, amounts = ("available", "held", "charged"), zip(*ledger.running(), strict=True)
    for name, values in zip(names, amounts, strict=True):
        least, span = min(values), (max(values) - min(values)) or 1
        path, before = "", None
        yield _text("head", left, 20, name)
        for row, count in enumerate(posted):
            value, y = values[count - 1], _HEAD + _ROW * row + 17
            if value != before:
                x = left + round(float((value - least) / span) * _SWING)
                path += f"V{y}H{x}" if path else f"M{x} {_HEAD}"
                yield _text("dim", left + _SWING + 8, y + 4, number(value))
            before = value
        yield f'<path class="money" d="{path}V{_HEAD + _ROW * len(posted)}"/>' * bool(path)
        left += _AMOUNT


def _ends(entry: Record, lanes: list[str], labels: Labels) -> tuple[float, float]:
    """Return from which lane to which an entry goes."""
    if isinstance(entry, Attempt):
        app = lanes.index(labels.endpoint(entry.endpoint))
        return 1, app if has_reached_app(entry) else (1 + app) / 2
    if isinstance(entry, VerbRecord) and entry.what in _BY_THE_PHONE:
        return len(lanes) - 1, 1
    return 0 if kind_of(entry) in {"verb", "clock", "fault"} else 1, 1


def _arrow(left: int, begin: float, end: float, tone: str, label: str) -> str:
    """Draw the mark of an entry, what leads to it from another lane, and its label."""
    start, stop = (left + round(_LANE * lane) for lane in (begin, end))
    mark, label = f'<path class="at" d="M{stop} 17{_SHAPES[tone]}"/>', _cut(label, _SHORT)
    if start == stop:
        return mark + _text("dim", stop + 12, 21, label)
    line = f'<path class="go" d="M{start} 17H{stop}"/>{mark}'
    return line + (
        _text("back", start - 12, 12, label) if stop < start else _text("", start + 12, 12, label)
    )


def _tip(text: str) -> str:
    """Draw the text of a row, above it, so that it is over what was drawn before."""
    box = f'<path class="box" d="M8-1h{round(len(text) * _LETTER) + 16}v-24H8z"/>'
    return f'<g class="tip">{box}{_text("", 16, -9, text)}</g>'


def _text(name: str, x: int, y: int, text: str) -> str:
    styled = f' class="{name}"' if name else ""
    return f'<text{styled} x="{x}" y="{y}">{escape(text)}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
