"""The summary at the end of a run, or of several runs on different machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..options import number_given
from .coverage import count, tried
from .data import RunData
from .page import page
from .result import Result


def file_at(folder: Path, options: Callable[[str], Any], name: str, *suffixes: str) -> Path | None:
    """Return the path of the file that an option names; None if the option was not given.

    Args:
        folder: The folder that the path is relative to.
        options: Returns an option's value.
        name: The option.
        *suffixes: The suffixes that the file may have.

    Raises:
        ValueError: The file has another suffix.
    """
    given: str | None = options(name)
    path = None if given is None else folder / given
    if path is not None and path.suffix.lower() not in suffixes:
        expected = f"the path of a file to write, such as report{suffixes[0]}"
        raise ValueError(f"{name}: expected {expected}, got {given!r}")
    return path


class Summary:
    """The end of one run, or of several as if they were one.

    Args:
        folder: The folder that paths are relative to.
        options: Returns an option's value.
        prefix: The beginning of the options' names.
        least: The option with the percentage that must be exercised.

    Attributes:
        page_at: Where to write the page; None: there is none.
        results: The results of all tests.
        mutants: The lines about mutants, if there were any.
    """

    def __init__(
        self, folder: Path, options: Callable[[str], Any], prefix: str, least: str
    ) -> None:
        self.page_at: Path | None = file_at(folder, options, f"{prefix}report", ".html", ".htm")
        self._least = number_given(options, least)
        self._counts = options(f"{prefix}coverage") or self._least is not None
        self._written: list[str] = []
        self.results: list[Result] = []
        self.mutants: list[str] = []

    def conclude(self, runs: Sequence[RunData], least_killed: float) -> bool:
        """Write the page; return whether that succeeded, and enough was exercised and killed.

        Args:
            runs: The data of the runs.
            least_killed: The percentage of mutants that must be killed.
        """
        self.results = [result for run in runs for result in run.results]
        score = None
        if runs[0].mutants is not None:
            from ..mutants.verdicts import Score

            verdicts = {
                result.nodeid: result.mutants
                for result in self.results
                if result.mutants is not None
            }
            score = Score(*runs[0].mutants, verdicts, least_killed)
            self.mutants += score.lines()
        is_written = True
        if self.page_at is not None:
            seen = self._exercised if self._counts else None
            text = page([run.facts for run in runs], self.results, seen, score)
            is_written = self.write(self.page_at, text)
        kills_enough = score is None or score.is_enough
        return is_written and kills_enough and not self._falls_short

    def write(self, path: Path, text: str) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            self._written.append(f"FAIL: not written ({error})")
            return False
        self._written.append(f"written to {path}")
        return True

    def sections(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the title and the lines of each printed section."""
        if self._counts:
            yield "chat_fake coverage", self._lines_of_coverage()
        if self._written:
            yield "chat_fake report", self._written

    @property
    def _exercised(self) -> set[str]:
        return {name for result in self.results for name in result.exercised}

    @property
    def _percent(self) -> float:
        part, whole = count(self._exercised)
        return 100 * part / whole

    @property
    def _falls_short(self) -> bool:
        return self._percent < (self._least or 0)

    def _lines_of_coverage(self) -> Iterator[str]:
        part, whole = count(self._exercised)
        yield f"exercised {part} of {whole}, {self._percent:.0f}%"
        for group, (_, never) in tried(self._exercised).items():
            if never:
                yield f"never: {', '.join(item.name for item in never)} ({group})"
        if self._falls_short:
            yield f"FAIL: expected {self._least:g}% exercised, got {self._percent:.1f}%"
