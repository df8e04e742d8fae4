"""The data of several runs as one result: that of one run of all their tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.views import counted
from . import mutation
from .data import read, refusal
from .page import totals
from .summary import Summary, number_given

#: The exit statuses of a run that passed, and of one that had no test: one of ``-k``, for example.
_FINE = {0, 5}


def merge(files: Sequence[str], options: Callable[[str], Any]) -> tuple[list[str], bool]:
    """Write the page of several runs, and return what is to be printed, and whether all is well.

    Args:
        files: What ``--chat-fake-data`` wrote.
        options: Gives what an option was given, by its name.

    Raises:
        OSError: A file can't be read.
        ValueError: A file, or the value of an option, can't be used.
    """
    asks_for_mutants = options("--mutants")
    least = "--fail-under" if options("--coverage") or not asks_for_mutants else ""
    summary = Summary(Path(), options, "--", least)
    runs = [(path, *read(path)) for path in files]
    (_, first, _), *_ = runs
    lines: list[str] = []
    for path, head, tests in runs:
        for expected, got in zip(first["configuration"], head["configuration"], strict=True):
            if expected != got:
                raise refusal(path, 1, f"{expected} as in {files[0]}", got)
        for line, test in enumerate(tests, 2):
            if test.nodeid in summary.tests:
                raise refusal(path, line, "each test in one file", f"{test.nodeid} again")
            summary.tests[test.nodeid] = test
        if head["status"] not in _FINE:
            lines.append(f"FAIL: the run of {path} ended with exit status {head['status']}")
    is_fine, shown, mutants = not lines, summary.tests.values(), list[str]()
    if asks_for_mutants:
        if first["mutants"] is None:
            raise refusal(files[0], 1, "a run with --chat-fake-mutants", "one without")
        killed = number_given(options, "--fail-under") or 0
        verdicts = {test.nodeid: test.mutants for test in shown if test.mutants is not None}
        sentences, ignored = first["mutants"]
        mutants += mutation.summary(sentences, ignored, verdicts, killed)
        is_fine = is_fine and mutation.percent(verdicts) >= killed
    is_fine = summary.conclude([head["facts"] for _, head, _ in runs], mutants) and is_fine
    told = f"{counted(len(files), 'file')}, {totals(shown)}"
    sections = (line for _, section in summary.sections() for line in section)
    return [told, *lines, *mutants, *sections], is_fine
