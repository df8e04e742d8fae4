"""What a team sees: the run time of its suite, beside the same suite written by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ..measuring import Row, timed, times
from .fixtures import PLUGINS, writing_bytecode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUITE = Path(__file__).parents[1] / "suite"


def run(folder: Path, *arguments: str) -> Callable[[], None]:
    """Return a run of pytest, from the start of the interpreter to its end.

    The start of the interpreter and of pytest is in the figure, as it is in a team's. Both runs
    share it, so it brings the ratio nearer to 1, and never to the other side of it.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for plugin in PLUGINS:
        command += ["-p", plugin]

    def measured() -> None:
        found = subprocess.run(
            [*command, "--rootdir", str(folder), *arguments],
            env={**writing_bytecode(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=True,
        )
        assert "200 passed" in found.stdout, found.stdout

    return measured


def over_handwritten(rounds: int) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # away from the project, whose settings are not a team's
        for file in ("shop.py", "with_plugin.py", "by_hand.py"):
            shutil.copy(SUITE / file, folder)
        ours, theirs = (timed(run(folder, file), 1) for file in ("with_plugin.py", "by_hand.py"))
        yield from times(rounds, ours, theirs)


#: Notes how long each run of a test takes, the plain one first.
CONFTEST = """
import json, time
import pytest

TOOK = {}

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    began = time.perf_counter()
    result = yield
    TOOK.setdefault(item.nodeid, []).append(time.perf_counter() - began)
    return result

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    (session.config.rootpath / "took.json").write_text(json.dumps(TOOK))
"""


def over_plain_run(rounds: int) -> Iterator[float]:
    """Compare the reruns of a test with its plain run: the median of the tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("shop.py", "with_plugin.py"):
            shutil.copy(SUITE / file, folder)
        (folder / "conftest.py").write_text(CONFTEST)
        mutants = "-p", "pytest_chatfake.mutants.plugin", "--chat-fake-mutants"
        measured = run(folder, "with_plugin.py", *mutants)
        for _ in range(rounds):
            measured()
            took = json.loads((folder / "took.json").read_text()).values()
            yield median(median(reruns) / plain for plain, *reruns in took if reruns)


ROWS = (
    Row(
        "mutants-rerun",
        "a test again with a false fact (--chat-fake-mutants) / its plain run, the median of 200",
        "at most",
        1.2,
        over_plain_run,
        needs=("flask",),
    ),
    Row(
        "suite",
        "a run of 200 typical tests with our fixtures / canned events, a stub and time-machine",
        "at most",
        1,
        over_handwritten,
        needs=("flask",),
    ),
)
