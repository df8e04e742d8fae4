"""What became of the mutants of a run, as its tests were run again with each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ..base.views import counted, listed

#: What becomes of a mutant in one test. In the whole run it is the first of these that a test has.
VERDICTS: Final = ("killed", "not run", "limit reached", "failed in setup or teardown", "survived")
KILLED, NOT_RUN, TOO_LONG, BROKEN, SURVIVED = VERDICTS

#: What is said of a test beside its mutants, with an error: it fails with the truth, before them or
#: after them. Then fixtures of its module or session may have kept a false fact.
NOTES: Final = ("not repeatable", "killed too much, perhaps")
NOT_REPEATABLE, TOO_GOOD = NOTES

#: By test, what became of each mutant that it exercises, and its notes.
Verdicts: TypeAlias = Mapping[str, Mapping[str, str]]

#: How many tests a line names.
_MOST: Final = 3


def of_the_run(verdicts: Verdicts) -> dict[str, str]:
    """Return what became of each mutant."""
    pairs = [
        pair for of_test in verdicts.values() for pair in of_test.items() if pair[0] not in NOTES
    ]
    return dict(sorted(pairs, key=lambda pair: -VERDICTS.index(pair[1])))


def percent(verdicts: Verdicts) -> float:
    """Return how many of the mutants were killed, in percent."""
    found = [*of_the_run(verdicts).values()]
    return 100 * found.count(KILLED) / max(1, len(found))


def _exercised_by(names: Collection[str], verdicts: Verdicts) -> str:
    """Say which tests have exercised some mutants."""
    tests = sorted(test for test in verdicts if not verdicts[test].keys().isdisjoint(names))
    shown = ", ".join(tests[:_MOST] + ["..."] * (len(tests) > _MOST))
    return f"{counted(len(tests), 'test')}: {shown}"


class Fate(NamedTuple):
    """What became of a mutant in the whole run.

    Attributes:
        fact: The false fact.
        verdict: One of ``VERDICTS``.
        tests: The tests that have exercised it.
    """

    fact: str
    verdict: str
    tests: str


def fates(mutants: Mapping[str, Sequence[str]], verdicts: Verdicts) -> list[Fate]:
    """Return what became of each mutant that was exercised; those that were killed come last."""
    found = of_the_run(verdicts)
    rows = [
        Fate(sentence, found[name], _exercised_by([name], verdicts))
        for name, (_, sentence) in mutants.items()
        if name in found
    ]
    return sorted(rows, key=lambda row: -VERDICTS.index(row.verdict))


def summary(
    mutants: Mapping[str, Sequence[str]], ignored: int, verdicts: Verdicts, least: float
) -> Iterator[str]:
    """Say how many were killed, what became of the others, and which tests noticed nothing.

    Args:
        mutants: The subject and the sentence of each by its name, in the order of the lines.
        ignored: How many of them do not concern the app.
        verdicts: What became of the others.
        least: How many percent must be killed.
    """
    found = of_the_run(verdicts)
    more = f", {ignored} ignored" if ignored else ""
    yield f"killed {[*found.values()].count(KILLED)} of {len(found)}{more}"
    seen = {mutants[name][0] for name in found if found[name] != SURVIVED}
    unseen = [name for name in mutants if name in found and mutants[name][0] not in seen]
    if len(unseen) == 1:
        unseen = []  # its own line says more
    for name, (_, sentence) in mutants.items():
        if name not in unseen and found.get(name, KILLED) != KILLED:
            yield f"{found[name]}: {sentence} (exercised by {_exercised_by([name], verdicts)})"
    if unseen:
        subjects = listed(dict.fromkeys(mutants[name][0] for name in unseen))
        tests = _exercised_by(unseen, verdicts)
        facts = f"{len(unseen)} facts of {subjects}; no test looks at them"
        yield f"{SURVIVED}: {facts} (exercised by {tests})"
    yield from notes(verdicts, least)


def notes(verdicts: Verdicts, least: float) -> Iterator[str]:
    """Say which tests noticed nothing or can't be run again, and what is missing.

    Args:
        verdicts: What became of the mutants.
        least: How many percent must be killed.
    """
    for test, of_test in sorted(verdicts.items()):
        yield from (f"{note}: {test} ({of_test[note]})" for note in NOTES if note in of_test)
        if SURVIVED in of_test.values() and not {KILLED, NOT_RUN} & {*of_test.values()}:
            yield f"noticed nothing: {test}"
    if left := sum([*of_test.values()].count(NOT_RUN) for of_test in verdicts.values()):
        yield f"stopped early: {counted(left, 'run is', 'runs are')} left"
    if (killed := percent(verdicts)) < least:
        yield f"FAIL: {least:g} % were required, and {killed:.1f} % were killed"
