"""The plugin of a run that was asked for more than failures."""

from __future__ import annotations

import os
import platform
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from tempfile import TemporaryFile
from typing import Any, Final

import pytest

from .data import written
from .results import CARRIER, Results
from .shown import Shown
from .summary import Summary, file_at

OK: Final = pytest.ExitCode.OK

#: How data may be called: not as the file of Python that follows an option without a value.
_SUFFIXES: Final = (".jsonl", ".json", ".data", ".txt", "")


class Run:
    """The plugin of a run that was asked for more than failures.

    Args:
        config: Has the options.
        configuration: What runs have in common whose data can be merged.
        seed: What its ids are derived from.

    Raises:
        ValueError: ``--chat-fake-coverage-fail-under`` is no percentage, or an option asks for a
            file that is called otherwise.
    """

    def __init__(self, config: pytest.Config, configuration: Sequence[str], seed: str) -> None:
        folder, given = config.invocation_params.dir, config.getoption  # tests may move
        self._summary = Summary(folder, given, "--chat-fake-", "--chat-fake-coverage-fail-under")
        self._data_at = file_at(folder, given, "--chat-fake-data", *_SUFFIXES)
        self._configuration = configuration
        self._seed = seed
        self._began = _now()
        self._is_worker = hasattr(config, "workerinput")  # of xdist: it collects, and shows nothing
        self._results = Results(timelines=(self._summary.page_at or self._data_at) is not None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the last report of a test carry what was collected in this process."""
        report = yield
        if report.when == "teardown":
            setattr(report, CARRIER, self._results.collected())
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
            test.carry(self._results.collected())

    def _test(self, of: pytest.TestReport | pytest.Item) -> Shown:
        return self._summary.tests.setdefault(of.nodeid, Shown(of.nodeid, of.location[1] or 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files, of an interrupted run too; and judge the coverage."""
        self._results.close()
        if self._is_worker:
            return
        summary, status = self._summary, session.exitstatus
        reruns: Any = session.config.pluginmanager.get_plugin("chatfake-mutants")
        for name, verdicts in reruns.verdicts.items() if reruns else ():
            summary.tests[name].mutants = verdicts
        facts = {
            "Began": f"{datetime.fromtimestamp(self._began, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "Took": f"{_now() - self._began:.1f} s",
            "Python": platform.python_version(),
            "pytest": pytest.__version__,
            "pytest-chatfake": version("pytest-chatfake"),
            "Seed": self._seed,
            "Options": ", ".join(
                f"{name}={value}".removesuffix("=True")
                for name, value in vars(session.config.option).items()
                if name.startswith("chat_") and value
            ),
        }
        is_written = True
        if self._data_at is not None:
            head = {
                "configuration": self._configuration,
                "facts": facts,
                "mutants": reruns and reruns.mutants,
                "status": int(status),
            }
            is_written = summary.write(self._data_at, written(head, summary.tests.values()))
        is_fine = summary.conclude([facts], reruns.lines if reruns else ())
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
