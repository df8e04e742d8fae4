"""The timeline as a picture: swimlanes for test, fake, apps and phone, the balance below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from html import escape
from typing import Final

from ..engine.engine import Engine
from ..wire.exact_json import number
from .happenings import Happening
from .labels import Labels

_ROW: Final = 22
_TOP: Final = 34
_LANE: Final = 150
_LEFT: Final = 150
_WIDTH: Final = 960
_CHART: Final = 110

#: How many happenings a picture shows; of more, the first and the last.
_MOST: Final = 60

#: In light and in dark; each text has a contrast of 4.5 and more on its ground.
STYLE: Final = """
.cf{font:12px ui-monospace,Consolas,monospace;--ink:#1b1b1b;--dim:#595959;--line:#c4c4c4;
--paper:#fff;--good:#0b6b2f;--bad:#b00020;--odd:#7a4b00;--held:#005a9e;max-width:100%;height:auto}
@media(prefers-color-scheme:dark){.cf{--ink:#eee;--dim:#b3b3b3;--line:#555;--paper:#161616;
--good:#6fd08c;--bad:#ff8a8a;--odd:#f0b860;--held:#7fbfff}}
.cf rect{fill:var(--paper)}.cf text{fill:var(--ink)}.cf .dim{fill:var(--dim)}
.cf .bad{fill:var(--bad)}.cf .odd{fill:var(--odd)}.cf .lane{stroke:var(--line)}
.cf .go{stroke:var(--ink)}.cf .stop{stroke:var(--bad)}.cf circle{fill:var(--ink)}
.cf polyline{fill:none;stroke-width:2}.cf .available{stroke:var(--good)}
.cf .held{stroke:var(--held);stroke-dasharray:6 3}
.cf .charged{stroke:var(--bad);stroke-dasharray:2 2}
""".replace("\n", "")


def svg(engine: Engine, labels: Labels, found: Sequence[Happening]) -> str:
    """Draw a timeline.

    Args:
        engine: The fake's engine.
        labels: The short names.
        found: What happened.
    """
    apps: dict[str, int] = {}
    for one in found:
        if one.endpoint is not None:
            apps.setdefault(labels.endpoint(one.endpoint), len(apps))
    lanes = ["test", "chat_fake", *apps, "phone"]
    rows = [*found] if len(found) <= _MOST else [*found[: _MOST // 2], *found[-_MOST // 2 :]]
    height = _TOP + _ROW * len(rows) + _CHART + 40
    width = max(_WIDTH, _LEFT + _LANE * len(lanes) + 320)
    places = {name: _LEFT + _LANE * index for index, name in enumerate(lanes)}
    title = f"{len(found)} happenings" + (f", {len(rows)} shown" if len(rows) < len(found) else "")
    return "".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" class="cf" role="img" '
                f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
            ),
            f"<title>{escape(f'chat_fake timeline: {title}')}</title>",
            f"<desc>{escape(_summary(engine))}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}"/>',
            *_lanes(places, _TOP + _ROW * len(rows)),
            *(
                part
                for row, one in enumerate(rows)
                for part in _row(one, _TOP + _ROW * row + 16, places, labels, width)
            ),
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


def _row(
    one: Happening, y: int, places: dict[str, int], labels: Labels, width: int
) -> Iterator[str]:
    fake = places["chat_fake"]
    start = end = fake
    if one.kind == "verb":
        phone = one.text.startswith(("deliver()", "read()"))
        start = places["phone" if phone else "test"]
    elif one.kind in {"clock", "fault"}:
        start = places["test"]
    elif one.endpoint is not None:
        end = places[labels.endpoint(one.endpoint)]
    tone = "stop" if one.failed else "go"
    yield f'<text class="dim" x="8" y="{y + 4}">{one.number} {one.kind}</text>'
    if start != end:
        yield f'<line class="{tone}" x1="{start}" y1="{y}" x2="{end}" y2="{y}"/>'
    yield f'<circle cx="{end}" cy="{y}" r="4"/>'
    text_at = max(places.values()) + 20
    tone = "bad" if one.failed else "odd" if one.marks else ""
    text = _cut(" ".join([one.text, *one.marks]), max((width - text_at) // 8, 20))
    yield f'<text class="{tone}" x="{text_at}" y="{y + 4}">{escape(text)}</text>'


def _chart(engine: Engine, top: int, width: int) -> Iterator[str]:
    """Draw the balance: a step for each entry of the ledger."""
    steps = list(_balances(engine))
    most = max((max(step) for step in steps), default=Decimal(0))
    least = min((min(step) for step in steps), default=Decimal(0))
    span = (most - least) or Decimal(1)
    wide = (width - 180) / max(len(steps), 1)
    names = ("available", "held", "charged")
    for index, name in enumerate(names):
        points: list[str] = []
        for place, step in enumerate(steps):
            y = top + _CHART - float((step[index] - least) / span) * (_CHART - 10)
            points += [f"{20 + place * wide:.1f},{y:.1f}", f"{20 + (place + 1) * wide:.1f},{y:.1f}"]
        yield f'<polyline class="{name}" points="{" ".join(points)}"/>'
        value = number(steps[-1][index])
        yield f'<text x="{width - 150}" y="{top + 20 + 18 * index}">{name} {value}</text>'
        y = top + 16 + 18 * index
        yield f'<polyline class="{name}" points="{width - 158},{y - 6} {width - 158},{y + 4}"/>'


def _balances(engine: Engine) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
    """Give what was available, held and charged after each entry."""
    available = held = charged = Decimal(0)
    for entry in engine.account.ledger.entries:
        if entry.kind == "hold":
            available, held = available - entry.amount, held + entry.amount
        elif entry.kind == "release":
            available, held = available + entry.amount, held - entry.amount
        elif entry.kind == "charge":
            available, charged = available - entry.amount, charged + entry.amount
        else:
            available += entry.amount
        yield available, held, charged


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
