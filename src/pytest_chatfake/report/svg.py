"""The timeline as a picture: swimlanes for test, fake, apps and phone, the balance below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from ..base.controls import escape
from ..base.views import counted
from ..engine.engine import Engine
from ..wire.exact_json import number
from .entries import Entry
from .labels import Labels
from .timeline_text import marks_of, text_of
from .trace import Trace

_ROW: Final = 22
_TOP: Final = 34
_LANE: Final = 140
_LEFT: Final = 60
_WIDTH: Final = 1200
_BAND: Final = 40

#: How many entries a picture shows; of more, the first and the last.
_MOST: Final = 60

#: What people do.
_BY_THE_PHONE: Final = frozenset(
    {
        *("deliver()", "read()", "goes_offline()", "comes_online()", "blocks()", "unblocks()"),
        *("opens_chat()", "closes_chat()"),
    }
)

#: In light and in dark; each text has a contrast of 4.5 and more on its ground.
STYLE: Final = """
.cf{font:12px ui-monospace,Consolas,monospace;--ink:#1b1b1b;--line:#c4c4c4;
--paper:#fff;--good:#0b6b2f;--bad:#b00020;--odd:#7a4b00;--held:#005a9e;max-width:100%;height:auto}
@media(prefers-color-scheme:dark){.cf{--ink:#eee;--line:#555;--paper:#161616;
--good:#6fd08c;--bad:#ff8a8a;--odd:#f0b860;--held:#7fbfff}}
.cf rect{fill:var(--paper)}.cf text{fill:var(--ink)}
.cf .bad{fill:var(--bad)}.cf .odd{fill:var(--odd)}.cf .lane{stroke:var(--line)}
.cf path{fill:none}.cf .go{stroke:var(--ink)}.cf .stop{stroke:var(--bad)}
.cf .dots{stroke:var(--ink);stroke-width:8;stroke-linecap:round}
.cf .available{stroke:var(--good);stroke-width:2}
.cf .held{stroke:var(--held);stroke-width:2}
.cf .charged{stroke:var(--bad);stroke-width:2}
""".replace("\n", "")


def svg(
    engine: Engine, labels: Labels, trace: Trace, start: int = 0, *, styled: bool = True
) -> str:
    """Draw a timeline.

    Args:
        engine: The fake's engine.
        labels: The short names.
        trace: What happened.
        start: The first entry that is drawn.
        styled: Whether the picture has its style inside; a page has it once.
    """
    end = trace.read()
    rows = trace.entries(start, min(end, start + _MOST // 2))
    rows += trace.entries(max(start + _MOST // 2, end - _MOST // 2))
    apps = [labels.endpoint(one.endpoint) for one in rows if one.endpoint is not None]
    lanes = ["test", "chat_fake", *dict.fromkeys(apps), "phone"]
    height = _TOP + _ROW * len(rows) + 3 * _BAND + 40
    width = max(_WIDTH, _LEFT + _LANE * len(lanes) + 420)
    places = {name: _LEFT + _LANE * index for index, name in enumerate(lanes)}
    title = counted(end - start, "entry", "entries")
    title += f", {len(rows)} shown" if len(rows) < end - start else ""
    return "".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" class="cf" role="img" '
                f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
            ),
            f"<title>{escape(f'chat_fake timeline: {title}')}</title>",
            f"<desc>{escape(_summary(engine))}</desc>",
            f"<style>{STYLE}</style>" if styled else "",
            f'<rect width="{width}" height="{height}"/>',
            *_lanes(places, _TOP + _ROW * len(rows)),
            *_rows(rows, places, labels, width),
            *_chart(engine, _TOP + _ROW * len(rows) + 26, width),
            "</svg>",
        ]
    )


def _summary(engine: Engine) -> str:
    ledger, currency = engine.account.ledger, engine.settings.currency
    return (
        f"At the end {number(ledger.available)} {currency} are available, "
        f"{number(ledger.held)} held and {number(ledger.charged)} charged."
    )


def _lanes(places: dict[str, int], end: int) -> Iterator[str]:
    for name, x in places.items():
        yield f'<text x="{x}" y="18" text-anchor="middle">{escape(_cut(name, 20))}</text>'
        yield f'<line class="lane" x1="{x}" y1="24" x2="{x}" y2="{end}"/>'


def _rows(
    rows: Sequence[Entry], places: dict[str, int], labels: Labels, width: int
) -> Iterator[str]:
    """Draw a line and a text for each entry; all lines of a tone are one path."""
    paths: dict[str, list[str]] = {"go": [], "stop": [], "dots": []}
    texts: list[str] = []
    text_at = max(places.values()) + 60
    for row, one in enumerate(rows):
        y = _TOP + _ROW * row + 16
        start, end = _ends(one, places, labels)
        if start != end:
            paths["stop" if one.failed else "go"].append(f"M{start} {y}H{end}")
        paths["dots"].append(f"M{end} {y}h0")
        tone = ' class="bad"' if one.failed else ' class="odd"' if one.is_odd else ""
        what = [str(one.number), one.kind, text_of(one, labels), *marks_of(one, labels)]
        shown = escape(_cut(" ".join(what), (width - text_at) // 7))
        texts.append(f'<text{tone} x="{text_at}" y="{y + 4}">{shown}</text>')
    yield from (f'<path class="{tone}" d="{"".join(d)}"/>' for tone, d in paths.items() if d)
    yield from texts


def _ends(one: Entry, places: dict[str, int], labels: Labels) -> tuple[int, int]:
    """Return from which lane to which an entry goes."""
    fake = places["chat_fake"]
    if one.endpoint is not None:
        app = places[labels.endpoint(one.endpoint)]
        return fake, app if one.has_reached_app else (fake + app) // 2
    if one.verb in _BY_THE_PHONE:
        return places["phone"], fake
    if one.kind in {"verb", "clock", "fault"}:
        return places["test"], fake
    return fake, fake


def _chart(engine: Engine, top: int, width: int) -> Iterator[str]:
    """Draw the balance: a step line for each of its amounts, each in a scale of its own."""
    steps = list(engine.account.ledger.running())
    wide = (width - 200) / len(steps)
    for index, name in enumerate(("available", "held", "charged")):
        values = [step[index] for step in steps]
        least, span = min(values), (max(values) - min(values)) or Decimal(1)
        bottom = top + _BAND * (index + 1) - 8
        path = ""
        for place, value in enumerate(values):
            y = bottom - float((value - least) / span) * (_BAND - 16)
            path += f"{'V' if path else 'M20 '}{y:.1f}H{20 + (place + 1) * wide:.1f}"
        yield f'<path class="{name}" d="{path}"/>'
        yield f'<text x="{width - 170}" y="{bottom}">{name} {number(values[-1])}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
