"""What the fixtures cost every test that asks for them, and every run that does not."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from ..measuring import Row, now

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

TESTS = 150

SUITE = f"""
import pytest

@pytest.mark.parametrize("number", range({TESTS}))
def test_empty(number):
    pass

@pytest.mark.parametrize("number", range({TESTS}))
def test_ours(number, chat_fake, chat_clock):
    chat_fake.send_text("Hello")
"""

RESPX_TEST = f"""
@pytest.mark.parametrize("number", range({TESTS}))
def test_respx(number, respx_mock):
    pass
"""

# Entry points are loaded in a way that -X importtime does not see; an import statement it sees.
RUN = "import pytest, pytest_chatfake.plugin; raise SystemExit(pytest.main())"

PLUGINS = ("time_machine", "pytest_httpserver.pytest_plugin", "pytest_chatfake.plugin")


class Stopwatch:
    """Puts the tests in turn, and takes the time of each from setup to teardown."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.failed = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: (item.callspec.params["number"], item.originalname))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed += report.failed

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # around the wrappers of all other plugins
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        started = now()
        try:
            return (yield)
        finally:
            self.seconds[item.originalname].append(now() - started)


def test_costs(suite: str, *plugins: str) -> dict[str, float]:
    """Run a suite, and return the median seconds of each kind of test beyond the empty one."""
    stopwatch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        file = Path(folder, "test_costs.py")
        file.write_text(suite)
        options = ["--rootdir", folder, "-p", "no:cacheprovider", "--import-mode=importlib"]
        for plugin in (*PLUGINS, *plugins):
            options += ["-p", plugin]
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others' plugins are others' cost
        status = pytest.main([str(file), *options], plugins=[stopwatch])
    assert status == 0, f"{stopwatch.failed} tests failed"
    kinds = {name: median(seconds) for name, seconds in stopwatch.seconds.items()}
    return {name: seconds - kinds["test_empty"] for name, seconds in kinds.items()}


def beside_respx(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        costs = test_costs(SUITE + RESPX_TEST, "respx.plugin")
        yield costs["test_ours"] / costs["test_respx"]


def milliseconds(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        yield test_costs(SUITE)["test_ours"] * 1_000


def imports(rounds: int) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "test_nothing.py")
        file.write_text("def test_nothing():\n    pass\n")
        command = [sys.executable, "-X", "importtime", "-c", RUN, "-p", "no:cacheprovider"]
        for number in range(rounds + 1):
            run = subprocess.run(
                [*command, "--rootdir", folder, str(file)],
                env=writing_bytecode(),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            if number:  # the first run writes bytecode
                yield own_microseconds(run.stderr) / 1_000


def writing_bytecode() -> dict[str, str]:
    """Return an environment in which modules are compiled once, as where a package is installed."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def own_microseconds(importtime: str) -> int:
    """Add up the self times of our modules: ``import time: <self> | <cumulative> | <name>``."""
    total = 0
    for line in importtime.splitlines():
        if line.startswith("import time:"):
            own, _, name = line.removeprefix("import time:").split("|")
            if name.strip().partition(".")[0] == "pytest_chatfake":
                total += int(own)
    assert total, "the plugin was not loaded at all"
    return total


ROWS = (
    Row(
        "fixture-respx",
        "chat_fake + chat_clock with one message sent, beyond an empty test / respx_mock",
        "at most",
        1,
        beside_respx,
        needs=("respx",),
    ),
    Row(
        "fixture-time",
        "the same, in milliseconds",
        "at most",
        1,
        milliseconds,
        unit="ms",
    ),
    Row(
        "imports",
        "our modules in a run that uses no fixture, self times with bytecode written",
        "at most",
        2,
        imports,
        unit="ms",
    ),
)
