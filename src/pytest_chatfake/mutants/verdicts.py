"""Which mutants were killed, and which survived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ..base.views import counted, listed

#: The verdicts on a mutant in one test; in the whole run, the first of these wins.
VERDICTS: Final = ("killed", "not run", "limit reached", "failed in setup or teardown", "survived")
KILLED, NOT_RUN, TOO_LONG, BROKEN, SURVIVED = VERDICTS

#: Notes on a test that fails with the truth, either before its mutants or after them, because a
#: module's or session's fixture may have kept a false fact.
NOTES: Final = ("not repeatable", "kills may be false")
NOT_REPEATABLE, TOO_GOOD = NOTES

#: For each test, the verdicts on the mutants that it exercises, and notes with their errors.
Verdicts: TypeAlias = Mapping[str, Mapping[str, str]]

#: The maximum number of tests that a line names.
_MAX_TESTS: Final = 3


class Fate(NamedTuple):
    """The verdict on a mutant in the whole run.

    Attributes:
        fact: The false fact.
        verdict: One of ``VERDICTS``.
        tests: The tests that have exercised it.
    """

    fact: str
    verdict: str
    tests: str


class Score:
    """The score of a run with mutants.

    Args:
        mutants: Subject and sentence by name, in the order of the lines.
        ignored: How many mutants are left out.
        verdicts: The verdicts on the others.
        least: The percentage that must be killed.

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
        """Whether enough mutants were killed."""
        return self._percent >= self._least

    def fates(self) -> list[Fate]:
        """Return the verdict on each exercised mutant, the killed ones last."""
        rows = [
            Fate(sentence, self._found[name], self._exercised_by(name))
            for name, (_, sentence) in self._mutants.items()
            if name in self._found
        ]
        return sorted(rows, key=lambda row: -VERDICTS.index(row.verdict))

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary; survivors of subjects that no test sees share a line."""
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
            facts = f"{len(unseen)} facts on {subjects}; no test checks them"
            yield f"{SURVIVED}: {facts} (exercised by {tests})"
        yield from self.notes()

    def notes(self) -> Iterator[str]:
        """Say which tests killed nothing or can't be rerun, and what is missing."""
        for test, of_test in sorted(self._verdicts.items()):
            yield from (f"{note}: {test} ({of_test[note]})" for note in NOTES if note in of_test)
            if SURVIVED in of_test.values() and not {KILLED, NOT_RUN} & {*of_test.values()}:
                yield f"killed nothing: {test}"
        if left := sum([*of_test.values()].count(NOT_RUN) for of_test in self._verdicts.values()):
            yield f"stopped early: {counted(left, 'run')} left"
        if not self.is_enough:
            yield f"FAIL: expected {self._least:g}% killed, got {self._percent:.1f}%"

    def _exercised_by(self, *names: str) -> str:
        found = self._verdicts.items()
        tests = sorted(test for test, of_test in found if not of_test.keys().isdisjoint(names))
        shown = ", ".join(tests[:_MAX_TESTS] + ["..."] * (len(tests) > _MAX_TESTS))
        return f"{counted(len(tests), 'test')}: {shown}"
