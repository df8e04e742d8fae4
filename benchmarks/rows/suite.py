"""What a team sees: the run time of its suite, beside the same suite written by hand."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..measuring import Row, timed, times
from .fixtures import PLUGINS, writing_bytecode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUITE = Path(__file__).parents[1] / "suite"


def run(folder: Path, file: str) -> Callable[[], None]:
    """Return a run of pytest, from the start of the interpreter to its end.

    The start of the interpreter and of pytest is in the figure, as it is in a team's. Both runs
    share it, so it brings the ratio nearer to 1, and never to the other side of it.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for plugin in PLUGINS:
        command += ["-p", plugin]

    def measured() -> None:
        found = subprocess.run(
            [*command, "--rootdir", str(folder), file],
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


ROWS = (
    Row(
        "suite",
        "a run of 200 typical tests with our fixtures / canned events, a stub and time-machine",
        "at most",
        1,
        over_handwritten,
        needs=("flask",),
    ),
)
