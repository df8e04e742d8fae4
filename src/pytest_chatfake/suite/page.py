"""The page of a run: all tests, each with its timeline and picture, in one file.

``page.html`` is its frame. A browser opens a test, and finds text in closed ones, by itself; the
script adds a filter and copy buttons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import quote

from ..base.escaping import escape, printable
from ..base.views import counted
from ..report.coverage import count, tried
from ..report.svg import STYLE
from .cards import cards_of
from .mutation import KILLED, of_the_run
from .result import OUTCOMES, Result

#: In a run of more tests, those that passed have no picture: the page would be too large.
_PICTURED: Final = 100


def page(
    runs: Sequence[Mapping[str, str]],
    tests: Collection[Result],
    seen: Iterable[str] | None,
    mutants: Iterable[str],
) -> str:
    """Write the page.

    Args:
        runs: What is shown of each run, by its heading.
        tests: The tests.
        seen: What the suite exercised; None: that is not shown.
        mutants: Lines about the mutants; none: they are not shown.
    """
    ordered, has_all = sorted(tests, key=lambda test: test.place), len(tests) <= _PICTURED
    parts = {
        "palette": STYLE,
        "totals": totals(tests),
        "facts": "".join(_facts(runs)),
        "parts": "".join([*_cards(tests), *_coverage(seen), *_mutants(tests, mutants)]),
        "pictured": _PICTURED,
        "tests": "".join(part for test in ordered for part in _test(test, has_all)),
    }
    return Template(Path(__file__).with_name("page.html").read_text("utf-8")).substitute(parts)


def totals(tests: Collection[Result]) -> str:
    """Say how many tests there were, and how they ended."""
    counts = Counter(test.outcome for test in tests)
    shown = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
    return f"{counted(len(tests), 'test')}: {shown or 'none'}"


def _facts(runs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for name in runs[0]:
        values = ", ".join(dict.fromkeys(run[name] for run in runs))
        yield f"<div><dt>{name}</dt><dd>{escape(values)}</dd></div>"


def _cards(tests: Iterable[Result]) -> Iterator[str]:
    """Show the card of each class of ready-made tests."""
    for card, rows in cards_of(test.row for test in tests if test.row):
        lines = "".join(
            f'<tr><th scope="row">{escape(row.test)}</th><td>{row.outcome}</td>'
            f"<td>{escape(row.cause)}</td></tr>"
            for row in rows
        )
        bar = _bar(sum(row.outcome == "ok" for row in rows), len(rows))
        yield _part(escape(card), bar, f"<table><tbody>{lines}</tbody></table>")


def _coverage(seen: Iterable[str] | None) -> Iterator[str]:
    if seen is None:
        return
    rows = "".join(
        f'<tr><th scope="row">{escape(group)}</th><td>{_bar(len(some), len(some + never))}</td>'
        f'<td data-head="Tried">{escape(", ".join(some))}</td>'
        f'<td data-head="Never">{escape(", ".join(never))}</td></tr>'
        for group, (some, never) in tried(seen).items()
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Of", "How much", "Tried", "Never"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    yield _part("What the suite tried", _bar(*count(seen)), table)


def _mutants(tests: Iterable[Result], lines: Iterable[str]) -> Iterator[str]:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    if items:
        found = [*of_the_run({test.nodeid: test.mutants or {} for test in tests}).values()]
        bar = _bar(found.count(KILLED), len(found))
        yield _part("What the tests notice", bar, f"<ul>{items}</ul>")


def _part(title: str, bar: str, inside: str) -> str:
    return (
        f"<details><summary><h2>{title}</h2>{bar}</summary>"
        f'<div class="inside">{inside}</div></details>'
    )


def _bar(part: int, whole: int) -> str:
    share = 100 * part / max(whole, 1)
    return f'<small>{part} of {whole}</small> <span class="bar" style="--part:{share:.0f}%"></span>'


def _test(test: Result, has_all: bool) -> Iterator[str]:
    file, separator, name = map(escape, test.nodeid.partition("::"))
    anchor = quote(printable(test.nodeid), safe="/:[]")
    yield f'<details class="{test.outcome}{" slow" * (test.seconds > 1)}"><summary>'
    yield f'<b>{test.outcome}</b> <span class="name"><i>{file}{separator}</i>{name}</span> '
    yield f"<small>{test.seconds:.2f} s</small>"
    yield f'<span class="reason">{escape(test.reason)}</span></summary>'
    yield f'<div class="inside" id="{anchor}"><a href="#{anchor}">Link to this test</a>'
    yield _scrolling("Failure", test.failure)
    timelines = test.timelines
    if test.sections:
        timelines = [
            *(("", picture) for _, picture in timelines),
            *((section, "") for section in test.sections),
        ]
    for exploration in test.explorations:
        yield f"<h3>Exploration of {escape(exploration['body'])}()</h3>"
        yield f"<p>{escape(exploration['result'])}</p>"
        yield _scrolling("Finding", exploration["finding"]) + _scrolling(
            "Test to paste", exploration["test"]
        )
        timelines = [*timelines, *exploration["timelines"]]
    for text, picture in timelines:
        if picture and (has_all or test.outcome != "passed"):
            yield f'<h3>Picture</h3><div class="picture">{picture}</div>'
        yield _scrolling("Timeline", text)
    if not timelines:
        yield "<p>No fake was used.</p>"
    yield "</div></details>\n"


def _scrolling(title: str, text: str) -> str:
    """Return a text that may be wider than the page: the keyboard can get to it, and scroll it."""
    return text and (
        f'<h3>{title}</h3><pre tabindex="0" role="group" aria-label="{title}">{escape(text)}</pre>'
    )
