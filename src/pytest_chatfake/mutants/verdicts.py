"""What became of the mutants of a run, as its tests were run again with each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
_MAX_TESTS: Final = 3


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


class Score:
    """What became of the mutants of a run.

    Args:
        mutants: The subject and the sentence of each by its name, in the order of the lines.
        ignored: How many of them do not concern the app.
        verdicts: What became of the others.
        least: How many percent must be killed.

    Attributes:
        headline: How many were killed.
    """

    def __init__(
        self,
        mutants: Mapping[str, Sequence[str]],
        ignored: int,
        verdicts: Verdicts,
        least: float,
    ) -> None:
        self._mutants = mutants
        self._verdicts = verdicts
        self._least = least
        pairs = [
            pair
            for of_test in verdicts.values()
            for pair in of_test.items()
            if pair[0] not in NOTES
        ]
        self._found = dict(sorted(pairs, key=lambda pair: -VERDICTS.index(pair[1])))
        killed = [*self._found.values()].count(KILLED)
        self._percent = 100 * killed / max(1, len(self._found))
        more = f", {ignored} ignored" if ignored else ""
        self.headline: str = f"killed {killed} of {len(self._found)}{more}"

    @property
    def is_enough(self) -> bool:
        """Whether as many were killed as must be."""
        return self._percent >= self._least

    def fates(self) -> list[Fate]:
        """Return what became of each mutant that was exercised; those that were killed are last."""
        rows = [
            Fate(sentence, self._found[name], self._exercised_by(name))
            for name, (_, sentence) in self._mutants.items()
            if name in self._found
        ]
        return sorted(rows, key=lambda row: -VERDICTS.index(row.verdict))

    def lines(self) -> Iterator[str]:
        """Say how many were killed, what became of the others, and which tests noticed nothing."""
        yield self.headline
        mutants, found = self._mutants, self._found
        seen = {mutants[name][0] for name in found if found[name] != SURVIVED}
        unseen = [name for name in mutants if name in found and mutants[name][0] not in seen]
        if len(unseen) == 1:
            unseen = []  # its own line says more
        for name, (_, sentence) in mutants.items():
            if name not in unseen and found.get(name, KILLED) != KILLED:
                yield f"{found[name]}: {sentence} (exercised by {self._exercised_by(name)})"
        if unseen:
            subjects = listed(dict.fromkeys(mutants[name][0] for name in unseen))
            tests = self._exercised_by(*unseen)
            facts = f"{len(unseen)} facts of {subjects}; no test looks at them"
            yield f"{SURVIVED}: {facts} (exercised by {tests})"
        yield from self.notes()

    def notes(self) -> Iterator[str]:
        """Say which tests noticed nothing or can't be run again, and what is missing."""
        for test, of_test in sorted(self._verdicts.items()):
            yield from (f"{note}: {test} ({of_test[note]})" for note in NOTES if note in of_test)
            if SURVIVED in of_test.values() and not {KILLED, NOT_RUN} & {*of_test.values()}:
                yield f"noticed nothing: {test}"
        if left := sum([*of_test.values()].count(NOT_RUN) for of_test in self._verdicts.values()):
            yield f"stopped early: {counted(left, 'run is', 'runs are')} left"
        if not self.is_enough:
            yield f"FAIL: {self._least:g} % were required, and {self._percent:.1f} % were killed"

    def _exercised_by(self, *names: str) -> str:
        """Say which tests have exercised some mutants."""
        found = self._verdicts.items()
        tests = sorted(test for test, of_test in found if not of_test.keys().isdisjoint(names))
        shown = ", ".join(tests[:_MAX_TESTS] + ["..."] * (len(tests) > _MAX_TESTS))
        return f"{counted(len(tests), 'test')}: {shown}"
