"""The timeline as a picture: swimlanes for test, fake, apps and phone, the balance below them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final, TypedDict

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


class Drawing(TypedDict):
    """What a picture shows, as JSON knows it: so it can be kept, and drawn somewhere else.

    Attributes:
        title: What it is called: with how many entries there were, and how many are shown.
        summary: How much money there was at the end.
        lanes: The names of the lanes, from the left.
        rows: Of each entry: from which lane to which it goes, its tone, and its text.
        curves: Of each amount: what it is called, what it was at the end, and its course in pixels.
    """

    title: str
    summary: str
    lanes: list[str]
    rows: list[tuple[float, float, str, str]]
    curves: list[tuple[str, str, list[float]]]


def drawing(engine: Engine, labels: Labels, trace: Trace, start: int = 0) -> Drawing:
    """Gather what the picture of a timeline shows.

    Args:
        engine: The fake's engine.
        labels: The short names.
        trace: What happened.
        start: The first entry that is drawn.
    """
    end = trace.read()
    shown = trace.entries(start, min(end, start + _MOST // 2))
    shown += trace.entries(max(start + _MOST // 2, end - _MOST // 2))
    apps = [labels.endpoint(one.endpoint) for one in shown if one.endpoint is not None]
    lanes = ["test", "chat_fake", *dict.fromkeys(apps), "phone"]
    title = f"chat_fake timeline: {counted(end - start, 'entry', 'entries')}"
    return {
        "title": title + (f", {len(shown)} shown" if len(shown) < end - start else ""),
        "summary": _summary(engine),
        "lanes": lanes,
        "rows": [_row(one, lanes, labels) for one in shown],
        "curves": list(_curves(engine)),
    }


def svg(shown: Drawing, *, styled: bool = True) -> str:
    """Draw a picture.

    Args:
        shown: What it shows.
        styled: Whether the picture has its style inside; a page has it once.
    """
    end = _TOP + _ROW * len(shown["rows"])
    height = end + 3 * _BAND + 40
    width = max(_WIDTH, _LEFT + _LANE * len(shown["lanes"]) + 420)
    return "".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" class="cf" role="img" '
                f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
            ),
            f"<title>{escape(shown['title'])}</title>",
            f"<desc>{escape(shown['summary'])}</desc>",
            f"<style>{STYLE}</style>" if styled else "",
            f'<rect width="{width}" height="{height}"/>',
            *_lanes(shown["lanes"], end),
            *_rows(shown, width),
            *_chart(shown, end + 26, width),
            "</svg>",
        ]
    )


def _summary(engine: Engine) -> str:
    ledger, currency = engine.account.ledger, engine.settings.currency
    return (
        f"At the end {number(ledger.available)} {currency} are available, "
        f"{number(ledger.held)} held and {number(ledger.charged)} charged."
    )


def _row(one: Entry, lanes: list[str], labels: Labels) -> tuple[float, float, str, str]:
    tone = "bad" if one.failed else "odd" if one.is_odd else ""
    what = [str(one.number), one.kind, text_of(one, labels), *marks_of(one, labels)]
    return (*_ends(one, lanes, labels), tone, " ".join(what))


def _ends(one: Entry, lanes: list[str], labels: Labels) -> tuple[float, float]:
    """Return from which lane to which an entry goes."""
    if one.endpoint is not None:
        app = lanes.index(labels.endpoint(one.endpoint))
        return 1, app if one.has_reached_app else (1 + app) / 2
    if one.verb in _BY_THE_PHONE:
        return len(lanes) - 1, 1
    return 0 if one.kind in {"verb", "clock", "fault"} else 1, 1


def _curves(engine: Engine) -> Iterator[tuple[str, str, list[float]]]:
    """Give the course of each amount of the balance, in a scale of its own."""
    steps = zip(*engine.account.ledger.running(), strict=True)
    for name, values in zip(("available", "held", "charged"), steps, strict=True):
        least, span = min(values), (max(values) - min(values)) or Decimal(1)
        course = [round(float((one - least) / span) * (_BAND - 16), 1) for one in values]
        yield name, number(values[-1]), course


def _lanes(names: list[str], end: int) -> Iterator[str]:
    for place, name in enumerate(names):
        x = _at(place)
        yield f'<text x="{x}" y="18" text-anchor="middle">{escape(_cut(name, 20))}</text>'
        yield f'<line class="lane" x1="{x}" y1="24" x2="{x}" y2="{end}"/>'


def _at(lane: float) -> int:
    return _LEFT + int(_LANE * lane)


def _rows(shown: Drawing, width: int) -> Iterator[str]:
    """Draw a line and a text for each entry; all lines of a tone are one path."""
    paths: dict[str, list[str]] = {"go": [], "stop": [], "dots": []}
    texts: list[str] = []
    text_at = _at(len(shown["lanes"]) - 1) + 60
    for row, (start, end, tone, text) in enumerate(shown["rows"]):
        y = _TOP + _ROW * row + 16
        if start != end:
            paths["stop" if tone == "bad" else "go"].append(f"M{_at(start)} {y}H{_at(end)}")
        paths["dots"].append(f"M{_at(end)} {y}h0")
        toned = f' class="{tone}"' if tone else ""
        cut = escape(_cut(text, (width - text_at) // 7))
        texts.append(f'<text{toned} x="{text_at}" y="{y + 4}">{cut}</text>')
    yield from (f'<path class="{tone}" d="{"".join(d)}"/>' for tone, d in paths.items() if d)
    yield from texts


def _chart(shown: Drawing, top: int, width: int) -> Iterator[str]:
    """Draw the balance: a step line for each of its amounts."""
    for index, (name, amount, course) in enumerate(shown["curves"]):
        bottom, wide = top + _BAND * (index + 1) - 8, (width - 200) / len(course)
        path = ""
        for place, high in enumerate(course):
            path += f"{'V' if path else 'M20 '}{bottom - high:.1f}H{20 + (place + 1) * wide:.1f}"
        yield f'<path class="{name}" d="{path}"/>'
        yield f'<text x="{width - 170}" y="{bottom}">{name} {amount}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
