"""The page of a run: all tests, each with its timeline and picture, in one file.

It has no script. What a browser does by itself is enough: each test is folded until it is opened,
the browser's own search opens what it finds, and the tests that failed stand first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pytest

from ..base.controls import escape
from ..base.views import counted
from ..report.coverage import ITEMS, name_of
from ..report.svg import STYLE

_HEAD: Final = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><title>chat_fake report</title>'
)
_ADVICE: Final = (
    "Open a test to see what happened in it; the browser's search finds text in closed ones, too."
)
_ORDER: Final = (
    "failed",
    "error",
    "interrupted",
    "xpassed",
    "rerun",
    "xfailed",
    "skipped",
    "passed",
)


class Shown:
    """One test, as the page shows it.

    Attributes:
        nodeid: Its name.
        duration: How long it took, in real seconds.
        text: What its failure says.
        pictures: The text and the picture of each fake's timeline.
        is_over: Whether all of its phases have ended; in an interrupted run, that of one has not.
    """

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid
        self.is_over: bool = False
        self._outcome: str = "passed"
        self.duration: float = 0.0
        self.text: str = ""
        self.pictures: list[tuple[str, str]] = []

    @property
    def outcome(self) -> str:
        """How it ended: ``failed``, ``error``, ``skipped``, ``passed``, ..., or not at all."""
        is_cut_off = not self.is_over and self._outcome == "passed"
        return "interrupted" if is_cut_off else self._outcome

    def add(self, report: pytest.TestReport) -> None:
        """Take in the report of one phase."""
        self.duration += report.duration
        outcome = _outcome(report)
        if _ORDER.index(outcome) < _ORDER.index(self._outcome):
            self._outcome = outcome
        if report.failed or report.outcome == "rerun":  # type: ignore[comparison-overlap]
            self.text += f"{report.longreprtext}\n"


def _outcome(report: pytest.TestReport) -> str:
    expected = hasattr(report, "wasxfail")
    if report.outcome == "rerun":  # type: ignore[comparison-overlap]
        return "rerun"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "xfailed" if expected else "skipped"
    return "xpassed" if expected and report.when == "call" else "passed"


def page(tests: Sequence[Shown], seen: Iterable[str] | None, mutants: Iterable[str] = ()) -> str:
    """Write the page.

    Args:
        tests: The tests, in the order in which they ran.
        seen: What the suite exercised; None: that is not shown.
        mutants: Lines about the mutants; none: they are not shown.
    """
    ordered = sorted(tests, key=lambda test: _ORDER.index(test.outcome))
    counts = {name: sum(test.outcome == name for test in tests) for name in _ORDER}
    shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return "".join(
        [
            _HEAD,
            f"<style>{_STYLE}{STYLE}</style></head><body><main><h1>chat_fake report</h1>",
            f"<p>{counted(len(tests), 'test')}: {escape(shown) or 'none'}. {_ADVICE}</p>",
            *_coverage(seen),
            *_mutants(mutants),
            "<h2>Tests</h2>",
            *(part for test in ordered for part in _test(test)),
            "</main></body></html>\n",
        ]
    )


def _coverage(seen: Iterable[str] | None) -> Iterator[str]:
    if seen is None:
        return
    known = set(seen)
    count = sum(name_of(item) in known for item in ITEMS)
    yield f"<h2>What the suite tried</h2><p>{count} of {len(ITEMS)}.</p><table><thead><tr>"
    yield '<th scope="col">Of</th><th scope="col">Tried</th><th scope="col">Never</th>'
    yield "</tr></thead><tbody>"
    for group in dict.fromkeys(item.group for item in ITEMS):
        inside = [item for item in ITEMS if item.group == group]
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
    opened = " open" if test.outcome in {"failed", "error"} and not test.pictures else ""
    yield f'<details{opened}><summary><span class="{test.outcome}">{test.outcome}</span> '
    yield f"{escape(test.nodeid)} <small>{test.duration:.2f} s</small></summary>"
    if test.text:
        yield _scrolling("pre", f"Failure of {test.nodeid}", escape(test.text))
    for text, picture in test.pictures:
        if picture:
            yield _scrolling("div", f"Picture of {test.nodeid}", picture)
        yield _scrolling("pre", f"Timeline of {test.nodeid}", escape(text))
    if not test.pictures:
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
