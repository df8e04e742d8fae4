"""Merges several runs into one result, as if one run had had all their tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.views import counted
from ..options import number_given
from .data import read, refusal
from .page import totals
from .summary import Summary

#: The exit statuses of runs that passed, or had no tests (with ``-k``, for example).
_FINE = {0, 5}


def merge(files: Sequence[str], options: Callable[[str], Any]) -> tuple[list[str], bool]:
    """Write the page of several runs; return the lines to print, and whether all is well.

    Args:
        files: Files written by ``--chat-fake-data``.
        options: Returns an option's value, by name.

    Raises:
        OSError: A file can't be read.
        ValueError: A file or an option can't be used.
    """
    asks_for_mutants = options("--mutants")
    least = "--fail-under" if options("--coverage") or not asks_for_mutants else ""
    summary = Summary(Path(), options, "--", least)
    runs = [read(path) for path in files]
    seen, lines = set[str](), list[str]()
    for path, run in zip(files, runs, strict=True):
        for name, expected in runs[0].configuration.items():
            if (got := run.configuration.get(name)) != expected:
                raise refusal(path, 1, f"{name}={expected}, as in {files[0]}", f"{name}={got}")
        for line, result in enumerate(run.results, 2):
            if result.nodeid in seen:
                raise refusal(path, line, "each test in one file", f"{result.nodeid} again")
            seen.add(result.nodeid)
        if run.status not in _FINE:
            lines.append(f"FAIL: the run of {path} ended with exit status {run.status}")
    if not asks_for_mutants:
        for run in runs:
            run.mutants = None
    elif runs[0].mutants is None:
        raise refusal(files[0], 1, "a run with --chat-fake-mutants", "one without")
    is_fine = summary.conclude(runs, number_given(options, "--fail-under") or 0) and not lines
    totals_line = f"{counted(len(files), 'file')}, {totals(summary.results)}"
    sections = (line for _, section in summary.sections() for line in section)
    return [totals_line, *lines, *summary.mutants, *sections], is_fine
