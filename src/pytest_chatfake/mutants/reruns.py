"""Runs the tests again after a run, with one false fact at a time.

The terminal, reports, debuggers and counts never see a rerun. But wrappers of other plugins do run,
because a test may need them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from math import inf
from operator import methodcaller
from time import monotonic
from types import FrameType
from typing import Any, Final

import pytest

from ..base.arguments import check_choice, shortened
from ..base.views import counted
from ..options import number_given, seed_key
from ..suite.reports import begin_line
from .facts import MUTANTS, Mutation
from .private_names import copied, disconnect_thread, leave_junit_out, same_examples
from .verdicts import (
    BROKEN,
    KILLED,
    NOT_REPEATABLE,
    NOT_RUN,
    SURVIVED,
    TOO_GOOD,
    TOO_LONG,
    Score,
)

#: The key under which an xdist worker sends its verdicts.
_OUTPUT: Final = "chat_fake_mutants"

#: Hooks that would report a rerun; the reruns themselves read ``pytest_runtest_logreport``.
_REPORTING: Final = {
    "pytest_runtest_logstart",
    "pytest_runtest_logfinish",
    "pytest_exception_interact",
    "pytest_warning_recorded",
}

_PACKAGE: Final = f"{__name__.partition('.')[0]}."

#: A rerun may take ten times as long as its test, or two real seconds if that is longer.
_TIMES_AS_LONG: Final = 10
_LEAST_SECONDS: Final = 2.0


class LimitReached(BaseException):
    """A rerun takes too long. Not an ``Exception``, so that no app swallows it."""


class Reruns:
    """The plugin of a run with mutants: notes what each test exercises, and reruns the tests.

    Args:
        config: Has the options.

    Attributes:
        mutants: All mutants, and how many are ignored.
        least: The percentage of them that must be killed.
        verdicts: By test, the verdicts on the others.

    Raises:
        ValueError: An option is not a number, or out of range; or an ignored mutant is unknown.
    """

    def __init__(self, config: Any) -> None:
        self._ignored: set[str] = set(config.getini("chat_fake_mutants_ignore"))
        for name in sorted(self._ignored):
            check_choice(name, "mutant in chat_fake_mutants_ignore", MUTANTS)
        seconds = number_given(config.getoption, "--chat-fake-mutants-seconds", "seconds", inf)
        self._seconds = inf if seconds is None else seconds
        self.least: float = number_given(config.getoption, "--chat-fake-mutants-fail-under") or 0
        self._config = config
        self.mutants: tuple[Mapping[str, Sequence[str]], int] = MUTANTS, len(self._ignored)
        self._plan: list[tuple[Any, float]] = []
        self.verdicts: dict[str, dict[str, str]] = {}
        self._reports: list[pytest.TestReport] = []
        # The state of the current rerun; the run itself has no mutant and no limit.
        self._repeats: bool | None = None  # whether it repeats whole explorations; None: no rerun
        self._mutant: str | None = None
        self._truth: Mutation | None = None
        self._mutation = Mutation(None)
        self._limit = inf
        self._took = 0.0
        self._lines: list[str] = []

    # In each run of a test

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test with this rerun's mutant, if any, and interrupt the test if it hangs.

        This wrapper is the innermost, so that other plugins' alarms are set around it.
        """
        began = monotonic()
        self._mutation = Mutation(self._mutant, self._truth)
        with _alarm(self._limit):
            result = yield
        self._took = monotonic() - began
        passed = all(report.passed and not hasattr(report, "wasxfail") for report in self._reports)
        markers = (marker.kwargs for marker in item.iter_markers("chat_fake"))
        takes_part = next((fields["mutants"] for fields in markers if "mutants" in fields), True)
        names = self._mutation.exercised - self._ignored
        if self._repeats is None and names and passed and takes_part:
            self._plan.append((item, self._took))
            self.verdicts[item.nodeid] = dict.fromkeys(sorted(names), NOT_RUN)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_chatfake_attempt(self, attempt: Any) -> Any:
        return self._mutation.falsify(attempt)

    @pytest.hookimpl(optionalhook=True)
    def pytest_chatfake_reply(self, api: Any, reply: Callable[[], Any], is_balance: bool) -> Any:
        return self._mutation.misreport(api, reply, is_balance)

    @pytest.hookimpl(optionalhook=True)
    def pytest_chatfake_repeat(self) -> bool | None:
        return self._repeats

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the reports of the current test; if it is retried, those of the last try."""
        self._reports = [*self._reports * (report.when != "setup"), report]

    # The reruns

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Generator[None, object, object]:
        """Rerun the tests after the run, so that durations and coverage are the run's own."""
        done = yield
        if self._plan and not (session.shouldfail or session.shouldstop):
            hooks_of = session.gethookproxy

            def quiet_hooks_of(path: Any) -> Any:
                return _Quiet(hooks_of(path), self)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(session, "gethookproxy", quiet_hooks_of)
                leave_junit_out(patch, self._config)
                self._run_again()
        return done

    def _run_again(self) -> None:
        is_fast, done = self._config.getoption("--chat-fake-mutants=fast"), set[str]()
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            mutants = counted(len({*chain(*self.verdicts.values())}), "mutant")
            runs = 3 * len(self._plan) + sum(map(len, self.verdicts.values()))
            begin_line(terminal)
            terminal.write_line(f"chat_fake: {mutants} in at most {counted(runs, 'run')}")
        end = monotonic() + self._seconds
        for item, seconds in self._plan:
            self._limit = max(_TIMES_AS_LONG * seconds, _LEAST_SECONDS)
            self._repeats = False
            verdicts = self.verdicts[item.nodeid]
            verdicts.update(dict.fromkeys(done & verdicts.keys(), KILLED))
            left = [name for name, verdict in verdicts.items() if verdict == NOT_RUN]
            if left and monotonic() < end and not self._try_truth(item, end):
                verdicts.clear()
                verdicts[NOT_REPEATABLE] = self._error
                continue
            kills = set[str]()
            for name in left:
                if monotonic() >= end:
                    break
                verdicts[name] = self._run(item, name)
                # By chance, it was only exercised in the run itself.
                if not self._mutation.exercised:
                    del verdicts[name]
                elif verdicts[name] == KILLED:
                    kills.add(name)
            if kills and monotonic() < end:
                if self._run(item, None, "afterwards") != SURVIVED:
                    verdicts[TOO_GOOD] = self._error
                elif is_fast:
                    done |= kills
        self._tear_down(self._plan[-1][0], None)

    def _try_truth(self, item: Any, end: float) -> bool:
        # Returns False if the test is not repeatable, and True if there is no time to find out.
        if self._run(item, None) == SURVIVED:
            return True
        # An earlier test's mutants may have left false facts in wider fixtures; or the test counts
        # its worlds, for example.
        self._tear_down(item, None)
        self._repeats = True
        return monotonic() >= end or self._run(item, None, "once more") == SURVIVED

    def _run(self, item: Any, mutant: str | None, when: str = "again") -> str:
        # Uses a copy, so that the test keeps nothing from its reruns.
        self._tear_down(item, item)
        disconnect_thread()
        again = copied(item)
        # Formatting a traceback takes longer than the test.
        again.repr_failure = methodcaller("exconly")
        self._mutant, self._truth = mutant, self._truth if mutant else None
        stash = self._config.stash
        with suppress(LimitReached), same_examples(again), pytest.MonkeyPatch.context() as patch:
            # Other ids, because the app may remember those of an earlier run.
            patch.setitem(stash, seed_key, f"{stash[seed_key]} {when}, {mutant}")
            # With itself as the next test, the copy is torn down, but not its module.
            self.part_of("pytest_runtest_protocol", _is_needed)(item=again, nextitem=item)
        self._truth = self._truth or self._mutation
        failed = {report.when for report in self._reports if report.failed}
        if self._took >= self._limit:
            return TOO_LONG
        return KILLED if "call" in failed else BROKEN if failed else SURVIVED

    def _tear_down(self, item: Any, following: Any) -> None:
        # The next test decides which fixtures live on, and only the caller knows it.
        call, item = self.part_of("pytest_runtest_teardown", _finalises), copied(item)
        pytest.CallInfo.from_call(lambda: call(item=item, nextitem=following), "teardown")

    def part_of(self, name: str, is_called: Callable[[Any], bool], hooks: Any = None) -> Any:
        # Reruns are invisible to other plugins, so only some implementations of a hook are called.
        manager = self._config.pluginmanager
        found = getattr(hooks or manager.hook, name).get_hookimpls()
        called = [one.plugin for one in found if is_called(one)]
        plugins = (one.plugin for one in getattr(manager.hook, name).get_hookimpls())
        left_out = [plugin for plugin in plugins if plugin not in called]
        return manager.subset_hook_caller(name, left_out)

    @property
    def _error(self) -> str:
        found: Any = next((report.longrepr for report in self._reports if report.failed), TOO_LONG)
        crash = getattr(found, "reprcrash", None)  # only a fixture's error has a traceback
        return shortened(str(crash.message if crash else found).partition("\n")[0])

    # Output

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.verdicts.update(getattr(node, "workeroutput", {}).get(_OUTPUT, {}))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Set the exit status before others read it; in an xdist worker, send the verdicts."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_OUTPUT] = self.verdicts
        else:
            score = Score(*self.mutants, self.verdicts, self.least)
            self._lines += score.lines()
            if not score.is_enough:
                session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the score and the survivors."""
        terminalreporter.section("chat_fake mutants")
        for line in self._lines:
            terminalreporter.line(line)


class _Quiet:
    """A test's hooks without those that report it, because only the reruns get its reports."""

    def __init__(self, hooks: Any, reruns: Reruns) -> None:
        self._hooks = hooks
        self._reruns = reruns

    def __getattr__(self, name: str) -> Any:
        if name == "pytest_runtest_logreport":
            return self._reruns.pytest_runtest_logreport
        if name == "pytest_runtest_makereport":
            return self._reruns.part_of(name, _is_of_others, self._hooks)
        return _Silence() if name in _REPORTING else getattr(self._hooks, name)


class _Silence:
    """A hook that does nothing."""

    def __call__(self, **_: object) -> None:
        pass

    call_historic = __call__


def _is_of_others(hook: Any) -> bool:
    # This package's additions to a report take long, and a rerun's report is never shown.
    return not getattr(hook.function, "__module__", "").startswith(_PACKAGE)


def _is_needed(hook: Any) -> bool:
    # Not pytest-rerunfailures, for example: a killed mutant must not get a second chance.
    return bool(hook.wrapper or hook.hookwrapper or hook.plugin_name == "runner")


def _finalises(hook: Any) -> bool:
    return {"runner", "capturemanager"} >= {hook.plugin_name}


@contextmanager
def _alarm(seconds: float) -> Generator[None]:
    # Only a signal can interrupt a hanging test, and only in the main thread of a Unix process.
    is_main = threading.current_thread() is threading.main_thread()
    if seconds == inf or not (is_main and hasattr(signal, "setitimer")):
        yield
        return

    def end(_: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_name != "from_call":
            frame = frame.f_back
        if frame is not None:  # pytest only catches errors inside these frames
            raise LimitReached

    before = signal.signal(signal.SIGALRM, end)
    # Repeatedly, in case it only ended a task.
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
