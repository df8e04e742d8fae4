"""What a whole run shows: what was never tried, and the page."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ..report.coverage import ITEMS, name_of, never, percent
from .page import Shown, page
from .results import CARRIER, Results, Wanted, number_given

OK: Final = pytest.ExitCode.OK


def run_of(config: pytest.Config) -> Run:
    """Return what shows what the options of a run ask for.

    Raises:
        UsageError: ``--chat-fake-coverage-fail-under`` is no percentage, or the page of
            ``--chat-fake-report`` would be a folder, or has no name of a page.
    """
    path: str | None = config.getoption("--chat-fake-report")
    page_at = None if path is None else config.invocation_params.dir / path  # tests may move
    if page_at is not None and _is_folder(page_at):
        raise pytest.UsageError(f"--chat-fake-report takes the path of a file, not {path!r}")
    if page_at is not None and page_at.suffix.lower() not in {".html", ".htm"}:
        raise pytest.UsageError(
            f"--chat-fake-report takes the path of the page to write, such as report.html, "
            f"not {path!r}"
        )
    least = number_given(config, "--chat-fake-coverage-fail-under")
    wanted = Wanted(
        coverage=bool(config.getoption("--chat-fake-coverage")) or least is not None,
        page=page_at,
        fail_under=least,
    )
    return Run(wanted, is_worker=hasattr(config, "workerinput"))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # it is too long, for example: the run ends with the reason
        return False


class Run:
    """The plugin of a run that was asked for more than failures.

    Args:
        wanted: What was asked for.
        is_worker: Whether this process is a worker of xdist: it collects, and shows nothing.
    """

    def __init__(self, wanted: Wanted, *, is_worker: bool) -> None:
        self._wanted = wanted
        self._is_worker = is_worker
        self._results = Results(wanted)
        self._failed = False
        self._written = "not written yet"
        self._tests: dict[str, Shown] = {}
        self._exercised: set[str] = set()

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
        if self._is_worker:
            return
        test = self._tests.setdefault(report.nodeid, Shown(report.nodeid))
        test.add(report)
        carried: dict[str, Any] = getattr(report, CARRIER, {})
        test.pictures += carried.get("pictures", [])
        self._exercised |= set(carried.get("exercised", ()))
        test.is_over = test.is_over or report.when not in {"setup", "call"}

    def interrupted(self, nodeid: str) -> None:
        """Keep what was collected of the test that Ctrl-C ended: it gets no report."""
        test = self._tests.setdefault(nodeid, Shown(nodeid))
        if test.is_over:
            return  # its report has it
        carried = self._results.collected(failed=True)
        test.pictures += carried["pictures"]
        self._exercised |= set(carried["exercised"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page, of an interrupted run too; and judge the coverage."""
        self._results.close()
        if self._is_worker:
            return
        if self._wanted.page is not None:
            reruns: Any = session.config.pluginmanager.get_plugin("chatfake-mutants")
            self._written = self._write(self._wanted.page, getattr(reruns, "lines", ()))
            if not self._written.startswith("written") and session.exitstatus == OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        least = self._wanted.fail_under
        if least is not None and session.exitstatus == OK and self._percent < least:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what was asked for."""
        if self._wanted.coverage:
            terminalreporter.section("chat_fake coverage")
            for line in self._lines_of_coverage():
                terminalreporter.line(line)
        if self._wanted.page is not None:
            terminalreporter.section("chat_fake report")
            terminalreporter.line(self._written)

    def _write(self, path: Path, mutants: Iterable[str]) -> str:
        """Write the page, and say how that went."""
        seen = self._exercised if self._wanted.coverage else None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page(list(self._tests.values()), seen, mutants), "utf-8")
        except OSError as error:
            return f"FAIL: not written: {error}"
        return f"written to {path}"

    @property
    def _percent(self) -> float:
        return percent(self._exercised)

    def _lines_of_coverage(self) -> Iterator[str]:
        count = sum(name_of(item) in self._exercised for item in ITEMS)
        yield f"exercised {count} of {len(ITEMS)}, {self._percent:.0f} %"
        for group, names in never(self._exercised).items():
            yield f"never: {', '.join(names)} ({group})"
        least = self._wanted.fail_under
        if least is not None and self._percent < least:
            yield f"FAIL: {least:g} % were required, and {self._percent:.1f} % were exercised"
