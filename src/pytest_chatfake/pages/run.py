"""The plugin of a run that has a page, coverage or data."""

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
from .collector import Collector
from .data import RunData, written
from .result import Result
from .summary import Summary, file_at

#: Suffixes of data files. Not ``.py``, which is a test after an option without its value.
_SUFFIXES: Final = (".jsonl", ".json", ".data", ".txt", "")


class Run:
    """Shows what was collected, at the end of the run.

    Args:
        config: Has the options.
        collector: Asked for the data of an interrupted test.
        own: The names of options that need not agree before runs are merged.

    Raises:
        ValueError: ``--chat-fake-coverage-fail-under`` is not a percentage, or a file has the wrong
            suffix.
    """

    def __init__(self, config: pytest.Config, collector: Collector, own: Container[str]) -> None:
        folder, given = config.invocation_params.dir, config.getoption  # tests may chdir
        self._summary = Summary(folder, given, "--chat-fake-", "--chat-fake-coverage-fail-under")
        self._data_at = file_at(folder, given, "--chat-fake-data", *_SUFFIXES)
        self._collector = collector
        self._own = own
        self._began = _now()
        self._results: dict[str, Result] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._result(report).add(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Collect the data of a test that Ctrl-C ends, because it gets no report."""
        try:
            return (yield)
        except (KeyboardInterrupt, pytest.exit.Exception):
            result = self._result(item)
            if not result.is_over:  # if it is over, its report has the data
                result.add_collected(self._collector.collect())
            raise

    def _result(self, of: pytest.TestReport | pytest.Item) -> Result:
        return self._results.setdefault(of.nodeid, Result(of.nodeid, of.location[1] or 0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files, even if the run was interrupted, and judge the coverage."""
        summary, status = self._summary, session.exitstatus
        reruns: Any = session.config.pluginmanager.get_plugin("chatfake-reruns")
        for name, verdicts in reruns.verdicts.items() if reruns else ():
            self._results[name].mutants = verdicts
        facts = {
            "Started": f"{datetime.fromtimestamp(self._began, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "Took": f"{_now() - self._began:.1f} s",
            "Python": platform.python_version(),
            "pytest": pytest.__version__,
            "pytest-chatfake": version("pytest-chatfake"),
            "Seed": session.config.stash.get(seed_key, ""),
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
        if not (is_fine and is_written) and status == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the coverage, and which files were written."""
        for title, lines in self._summary.sections():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)


def _now() -> float:
    # Tests may freeze every clock, but not the file system's.
    with TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime
