"""The plugin of a run that was asked for more than failures."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from .data import written
from .results import Results
from .shown import Shown
from .summary import Summary, Wanted, file_at, number_given

OK: Final = pytest.ExitCode.OK


def run_of(config: pytest.Config, configuration: Sequence[str]) -> Run:
    """Return what shows what the options of a run ask for.

    Args:
        config: The options.
        configuration: What runs have in common whose data can be merged.

    Raises:
        UsageError: ``--chat-fake-coverage-fail-under`` is no percentage, or a file can't be written
            where an option asks for it.
    """
    folder, least = config.invocation_params.dir, "--chat-fake-coverage-fail-under"
    page, data = "--chat-fake-report", "--chat-fake-data"
    try:
        fail_under = number_given(config.getoption(least), least)
        wanted = Wanted(
            coverage=bool(config.getoption("--chat-fake-coverage")) or fail_under is not None,
            page=file_at(folder, config.getoption(page), page, ".html", ".htm"),  # tests may move
            fail_under=fail_under,
        )
        data_at = file_at(folder, config.getoption(data), data)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    part = config.getoption("--chat-explore-part")
    suffix = "" if part is None else f", part {part}"  # another part is another test
    is_worker = hasattr(config, "workerinput")
    return Run(wanted, data_at, configuration, suffix, is_worker=is_worker)


class Run:
    """The plugin of a run that was asked for more than failures.

    Args:
        wanted: What was asked for.
        data_at: Where to write the data of the run; None: nowhere.
        configuration: What runs have in common whose data can be merged.
        suffix: What the names of its tests end with.
        is_worker: Whether this process is a worker of xdist: it collects, and shows nothing.
    """

    def __init__(
        self,
        wanted: Wanted,
        data_at: Path | None,
        configuration: Sequence[str],
        suffix: str = "",
        *,
        is_worker: bool,
    ) -> None:
        self._summary = Summary(wanted)
        self._data_at = data_at
        self._configuration = configuration
        self._suffix = suffix
        self._is_worker = is_worker
        self._results = Results(
            coverage=wanted.coverage or data_at is not None,
            timelines=(wanted.page or data_at) is not None,
        )
        self._failed = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the last report of a test carry what was collected in this process."""
        report = yield
        self._failed = report.failed or (self._failed and report.when != "setup")
        if report.when == "teardown":
            self._results.attach(report, failed=self._failed)
        return report

    # Hooks: in the process that has the terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report carries."""
        if not self._is_worker:
            self._test(report).add(report)

    def interrupted(self, item: pytest.Item) -> None:
        """Keep what was collected of the test that Ctrl-C ended: it gets no report."""
        test = self._test(item)
        if not test.is_over:  # else its report has it
            test.carry(self._results.collected(failed=True))

    def _test(self, of: pytest.TestReport | pytest.Item) -> Shown:
        name = of.nodeid + self._suffix
        return self._summary.tests.setdefault(name, Shown(name, of.location[1] or 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files, of an interrupted run too; and judge the coverage."""
        self._results.close()
        if self._is_worker:
            return
        summary, status = self._summary, session.exitstatus
        is_written = self._data_at is None or summary.write(
            self._data_at, written(self._configuration, int(status), summary.tests.values())
        )
        if not (summary.conclude() and is_written) and status == OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what was asked for."""
        for title, lines in self._summary.sections():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)
