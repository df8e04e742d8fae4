"""The plugin of a run that was asked for more than failures."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Container, Generator
from datetime import UTC, datetime
from importlib.metadata import version
from tempfile import TemporaryFile
from typing import Any, Final

import pytest

from ..base.redaction import redacted
from ..options import seed_key, values
from ..suite.reports import record_of
from .collector import Collector, failure_of
from .data import RunData, written
from .result import Result
from .summary import Summary, file_at

OK: Final = pytest.ExitCode.OK

#: How data may be called: not as the file of Python that follows an option without a value.
_SUFFIXES: Final = (".jsonl", ".json", ".data", ".txt", "")


class Run:
    """The plugin of a run that was asked for more than failures.

    Args:
        config: Has the options.
        own: The names of the options that may differ in runs whose data can be merged.

    Raises:
        ValueError: ``--chat-fake-coverage-fail-under`` is no percentage, or an option asks for a
            file that is called otherwise.

    Attributes:
        shows_tests: Whether what happened in tests is shown.
    """

    def __init__(self, config: pytest.Config, own: Container[str]) -> None:
        folder, given = config.invocation_params.dir, config.getoption  # tests may move
        self._summary = Summary(folder, given, "--chat-fake-", "--chat-fake-coverage-fail-under")
        self._data_at = file_at(folder, given, "--chat-fake-data", *_SUFFIXES)
        self._own = own
        self._began = _now()
        self._is_worker = hasattr(config, "workerinput")  # of xdist: it collects, and shows nothing
        self.shows_tests: bool = (self._summary.page_at or self._data_at) is not None
        self._collector = Collector(timelines=self.shows_tests)
        self._results: dict[str, Result] = {}

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record what pages show of a test, before others add its timeline to the failure."""
        report = yield
        if report.failed and self.shows_tests:
            record_of(report)["failure"] = failure_of(item, call, report)
        if report.when == "teardown":
            record_of(report).update(self._collector.collected())
        return report

    # Hooks: in the process that has the terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is on record."""
        if not self._is_worker:
            self._result(report).add(report)

    def interrupted(self, item: pytest.Item) -> None:
        """Keep what was collected of the test that Ctrl-C ended: it gets no report."""
        result = self._result(item)
        if not result.is_over:  # else its report has it
            result.add_record(self._collector.collected())

    def _result(self, of: pytest.TestReport | pytest.Item) -> Result:
        return self._results.setdefault(of.nodeid, Result(of.nodeid, of.location[1] or 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files, of an interrupted run too; and judge the coverage."""
        self._collector.close()
        if self._is_worker:
            return
        summary, status = self._summary, session.exitstatus
        reruns: Any = session.config.pluginmanager.get_plugin("chatfake-mutants")
        for name, verdicts in reruns.verdicts.items() if reruns else ():
            self._results[name].mutants = verdicts
        facts = {
            "Began": f"{datetime.fromtimestamp(self._began, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "Took": f"{_now() - self._began:.1f} s",
            "Python": platform.python_version(),
            "pytest": pytest.__version__,
            "pytest-chatfake": version("pytest-chatfake"),
            "Seed": session.config.stash[seed_key],
            "Options": redacted(shlex.join(session.config.invocation_params.args)),
        }
        run = RunData(
            values(session.config, without=self._own),
            facts,
            reruns and reruns.mutants,
            int(status),
            list(self._results.values()),
        )
        is_written = self._data_at is None or summary.write(self._data_at, written(run))
        is_fine = summary.conclude([run], reruns.least if reruns else 0)
        if not (is_fine and is_written) and status == OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what was asked for."""
        for title, lines in self._summary.sections():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)


def _now() -> float:
    """Return the time that a new file is given: tests may have stopped all clocks but that one."""
    with TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime
