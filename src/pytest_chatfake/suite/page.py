"""The page of a run: all tests, each with its timeline and picture, in one file.

It has no script. What a browser does by itself is enough: each test is folded until it is opened,
the browser's own search opens what it finds, and the tests that failed stand first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ..base.controls import escape
from ..base.views import counted
from ..report.coverage import name_of, possible
from ..report.svg import STYLE, svg
from .shown import OUTCOMES, Shown

_HEAD: Final = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><title>chat_fake report</title>'
)
_ADVICE: Final = (
    "Open a test to see what happened in it; the browser's search finds text in closed ones, too."
)


def page(tests: Collection[Shown], seen: Iterable[str] | None, mutants: Iterable[str] = ()) -> str:
    """Write the page.

    Args:
        tests: The tests.
        seen: What the suite exercised; None: that is not shown.
        mutants: Lines about the mutants; none: they are not shown.
    """
    return "".join(
        [
            _HEAD,
            f"<style>{_STYLE}{STYLE}</style></head><body><main><h1>chat_fake report</h1>",
            f"<p>{totals(tests)}. {_ADVICE}</p>",
            *_coverage(seen),
            *_mutants(mutants),
            "<h2>Tests</h2>",
            *(part for test in sorted(tests, key=lambda test: test.place) for part in _test(test)),
            "</main></body></html>\n",
        ]
    )


def totals(tests: Collection[Shown]) -> str:
    """Say how many tests there were, and how they ended."""
    counts = Counter(test.outcome for test in tests)
    shown = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
    return f"{counted(len(tests), 'test')}: {shown or 'none'}"


def _coverage(seen: Iterable[str] | None) -> Iterator[str]:
    if seen is None:
        return
    known, items = set(seen), possible(seen)
    count = sum(name_of(item) in known for item in items)
    yield f"<h2>What the suite tried</h2><p>{count} of {len(items)}.</p><table><thead><tr>"
    yield '<th scope="col">Of</th><th scope="col">Tried</th><th scope="col">Never</th>'
    yield "</tr></thead><tbody>"
    for group in dict.fromkeys(item.group for item in items):
        inside = [item for item in items if item.group == group]
        tried = ", ".join(one.name for one in inside if name_of(one) in known)
        never = ", ".join(one.name for one in inside if name_of(one) not in known)
        yield f'<tr><th scope="row">{escape(group)}</th><td>{escape(tried)}</td>'
        yield f"<td>{escape(never)}</td></tr>"
    yield "</tbody></table>"


def _mutants(lines: Iterable[str]) -> Iterator[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    if items:
        yield f"<h2>What the tests notice</h2><ul>{items}</ul>"


def _test(test: Shown) -> Iterator[str]:
    opened = " open" if test.outcome in {"failed", "error"} and not test.timelines else ""
    yield f'<details{opened}><summary><span class="{test.outcome}">{test.outcome}</span> '
    yield f"{escape(test.nodeid)} <small>{test.seconds:.2f} s</small></summary>"
    if test.failure:
        yield _scrolling("pre", f"Failure of {test.nodeid}", escape(test.failure))
    for text, picture in test.timelines:
        if picture:
            yield _scrolling("div", f"Picture of {test.nodeid}", svg(picture, styled=False))
        yield _scrolling("pre", f"Timeline of {test.nodeid}", escape(text))
    if not test.timelines:
        yield "<p>No fake was used.</p>"
    yield "</details>"


def _scrolling(tag: str, label: str, inside: str) -> str:
    """Return what may be wider than the page: the keyboard can get to it, and scroll it."""
    return f'<{tag} tabindex="0" role="group" aria-label="{escape(label)}">{inside}</{tag}>'


#: Each text has a contrast of 4.5 and more on its ground, in light and in dark.
_STYLE: Final = """
:root{--ink:#1b1b1b;--paper:#fff;--dim:#595959;--line:#c4c4c4;--good:#0b6b2f;--bad:#b00020;
--odd:#7a4b00}
@media(prefers-color-scheme:dark){:root{--ink:#eee;--paper:#161616;--dim:#b3b3b3;--line:#555;
--good:#6fd08c;--bad:#ff8a8a;--odd:#f0b860}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:76rem;margin:0 auto;padding:1rem}
pre{overflow:auto;max-height:32rem;font:13px/1.4 ui-monospace,Consolas,monospace;padding:.5rem;
border:1px solid var(--line)}
details{border-top:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 2.4rem}
summary{padding:.4rem 0;cursor:pointer;overflow-wrap:anywhere}
summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--odd)}
small{color:var(--dim)}details>div{overflow:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem;
border-top:1px solid var(--line)}
.failed,.error,.interrupted,.xpassed{color:var(--bad);font-weight:700}.passed{color:var(--good)}
.skipped,.xfailed,.rerun{color:var(--odd)}
""".replace("\n", "")
