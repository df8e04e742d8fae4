"""The data of several runs as one result: that of one run of all their tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..base.views import counted
from .data import read, refusal
from .page import totals
from .summary import Summary, Wanted, file_at, number_given

#: The exit statuses of a run that passed, and of one that had no test: one of ``-k``, for example.
_FINE = {0, 5}


def merge(
    files: Sequence[str], report: str | None, fail_under: str | None, *, coverage: bool
) -> tuple[list[str], bool]:
    """Write the page of several runs, and return what is to be printed, and whether all is well.

    Args:
        files: What ``--chat-fake-data`` wrote.
        report: Where to write the page; None: nowhere.
        fail_under: How many percent must be exercised; None: any.
        coverage: Whether to show what was never tried.

    Raises:
        OSError: A file can't be read.
        ValueError: A file, or the value of an option, can't be used.
    """
    wanted = Wanted(
        coverage=coverage or fail_under is not None,
        page=file_at(Path(), report, "--report", ".html", ".htm"),
        fail_under=number_given(fail_under, "--fail-under"),
    )
    summary, failures = Summary(wanted), list[str]()
    common: list[str] = []
    for path in files:
        head, tests = read(path)
        common = common or head["configuration"]
        for expected, got in zip(common, head["configuration"], strict=True):
            if expected != got:
                raise refusal(path, 1, f"{expected} as in {files[0]}", got)
        for line, test in enumerate(tests, 2):
            if test.nodeid in summary.tests:
                raise refusal(path, line, "each test in one file", f"{test.nodeid} again")
            summary.tests[test.nodeid] = test
        if head["status"] not in _FINE:
            failures.append(f"FAIL: the run of {path} ended with exit status {head['status']}")
    is_fine = summary.conclude() and not failures
    told = f"{counted(len(files), 'file')}, {totals(summary.tests.values())}"
    return [told, *failures, *(line for _, lines in summary.sections() for line in lines)], is_fine
