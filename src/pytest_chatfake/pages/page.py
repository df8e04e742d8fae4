"""Writes the page of a run: all tests, each with its timeline, in one file.

``page.html`` is its frame. The page works without its script, which only adds a filter, copy
buttons, and the causes and effects of a timeline's row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ..base.escaping import escape, printable
from ..base.extras import extra
from ..base.views import counted
from ..report.svg import STYLE
from .coverage import Item, count, tried
from .result import OUTCOMES, Result

if TYPE_CHECKING:
    from ..mutants.verdicts import Score

#: If there are more tests, those that passed have no picture, or the page would be too large.
_PICTURED: Final = 100


def page(
    runs: Sequence[Mapping[str, str]],
    tests: Collection[Result],
    seen: Iterable[str] | None,
    score: Score | None = None,
) -> str:
    """Write the page.

    Args:
        runs: What to show about each run, by heading.
        tests: The tests.
        seen: What the suite exercised; None: the page doesn't show that.
        score: The mutants' score; None: the run had none.
    """
    ordered, are_few = sorted(tests, key=lambda test: test.place), len(tests) <= _PICTURED
    parts = {
        "palette": STYLE,
        "totals": totals(tests),
        "facts": "".join(_facts(runs)),
        "parts": "".join([*_cards(tests), *_coverage(seen), *_mutants(score)]),
        "pictured": _PICTURED,
        "tests": "".join(
            part
            for test in ordered
            for part in _test(test, is_pictured=are_few or test.outcome != "passed")
        ),
    }
    return Template(Path(__file__).with_name("page.html").read_text("utf-8")).substitute(parts)


def totals(tests: Collection[Result]) -> str:
    """Say how many tests there were, and how many of them passed, failed, and so on."""
    counts = Counter(test.outcome for test in tests)
    shown = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
    return f"{counted(len(tests), 'test')}: {shown or 'none'}"


def _facts(runs: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for name in runs[0]:
        values = ", ".join(dict.fromkeys(run[name] for run in runs))
        yield f"<div><dt>{name}</dt><dd>{escape(values)}</dd></div>"


def _cards(tests: Iterable[Result]) -> Iterator[str]:
    found = [test.row for test in tests if test.row]
    if not found:
        return
    cards = extra("exploring.cards", "the page of ready-made tests")
    for card, rows in cards.cards_of(found):
        lines = "".join(
            f'<tr><th scope="row">{escape(row.test)}</th>'
            f'<td class="{row.verdict}">{row.verdict}</td><td>{escape(row.text)}</td></tr>'
            for row in rows
        )
        bar = _bar(sum(row.verdict == "ok" for row in rows), len(rows))
        yield _part(escape(card), bar, f"<table><tbody>{lines}</tbody></table>")


def _coverage(seen: Iterable[str] | None) -> Iterator[str]:
    if seen is None:
        return
    rows = "".join(
        f'<tr><th scope="row">{escape(group)}</th><td>{_bar(len(some), len(some + never))}</td>'
        f'<td data-head="Tried">{escape(", ".join(item.name for item in some))}</td>'
        f'<td data-head="Never">{"".join(map(_untried, never))}</td></tr>'
        for group, (some, never) in tried(seen).items()
    )
    table = _table(["Group", "Share", "Tried", "Never tried, and how to"], rows)
    yield _part("What the suite tried", _bar(*count(seen)), table)


def _untried(item: Item) -> str:
    return f"<div>{escape(item.name)}: <code>{escape(item.how)}</code></div>"


def _mutants(score: Score | None) -> Iterator[str]:
    if score is None:
        return
    from ..mutants.verdicts import KILLED

    fates = score.fates()
    rows = "".join(
        f'<tr><th scope="row">{escape(fate.fact)}</th>'
        f'<td class="{fate.verdict.split()[0]}">{fate.verdict}</td>'
        f'<td data-head="Exercised by">{escape(fate.tests)}</td></tr>'
        for fate in fates
    )
    table = _table(["False fact", "Result", "Exercised by"], rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in (score.headline, *score.notes()))
    bar = _bar(sum(fate.verdict == KILLED for fate in fates), len(fates))
    yield _part("What the tests check", bar, f"{table}<ul>{notes}</ul>")


def _table(heads: Iterable[str], rows: str) -> str:
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"


def _part(title: str, bar: str, inside: str) -> str:
    return (
        f"<details><summary><h2>{title}</h2>{bar}</summary>"
        f'<div class="inside">{inside}</div></details>'
    )


def _bar(part: int, whole: int) -> str:
    share = 100 * part / max(whole, 1)
    return f'<small>{part} of {whole}</small> <span class="bar" style="--part:{share:.0f}%"></span>'


def _test(test: Result, *, is_pictured: bool) -> Iterator[str]:
    file, separator, name = map(escape, test.nodeid.partition("::"))
    anchor = quote(printable(test.nodeid), safe="/:[]")
    yield f'<details class="{test.outcome}{" slow" * (test.seconds > 1)}"><summary>'
    yield f'<b>{test.outcome}</b> <span class="name"><i>{file}{separator}</i>{name}</span> '
    yield f"<small>{test.seconds:.2f} s</small>"
    yield f'<span class="reason">{escape(test.reason)}</span></summary>'
    yield f'<div class="inside" id="{anchor}"><a href="#{anchor}">Link to this test</a>'
    yield _highlights(test.highlights)
    for finding in test.findings:
        yield f"<h3>{escape(finding['title'])}</h3>"
        yield f"<p>{escape(finding['result'])}</p>"
        yield _scrolling("Finding", finding["text"])
        yield _scrolling("Test to paste", finding["test"])
    yield _scrolling("Failure", test.failure)
    yield from (_scrolling("Not raised in the test yet", text) for text in test.raised)
    more = [shown for finding in test.findings for shown in finding["timelines"]]
    timelines = [*(test.sections or test.timelines), *more]
    for text, picture in timelines:
        if picture and is_pictured:
            yield f'<h3>Timeline</h3><div class="picture">{picture}</div>'
        else:
            yield _scrolling("Timeline", text)
    if not timelines:
        yield "<p>No fake was used.</p>"
    yield "</div></details>\n"


def _highlights(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return items and f"<h3>What to look at</h3><ul>{items}</ul>"


def _scrolling(title: str, text: str) -> str:
    # A tabindex lets the keyboard reach and scroll a text that is wider than the page.
    return text and (
        f'<h3>{title}</h3><pre tabindex="0" role="group" aria-label="{title}">{escape(text)}</pre>'
    )
