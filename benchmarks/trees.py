"""Measure rows in this tree and in another one, in turn: ``python -m benchmarks --against TREE``.

Both trees are measured by this tree's rows, which therefore use nothing but public names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).parents[1]
SECONDS = 0.7  # for which a pair of processes takes turns


@contextmanager
def source_of(tree: str) -> Iterator[Path]:
    """Give the source folder of a tree: of a folder, or of a revision, unpacked for this while."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(tree) if Path(tree).is_dir() else unpacked(tree, Path(name))
        source = folder.resolve() / "src"
        if not (source / "pytest_chatfake").is_dir():
            sys.exit(f"{tree!r} isn't a tree of this project: it has no src/pytest_chatfake")
        yield source


def unpacked(revision: str, folder: Path) -> Path:
    """Unpack all files of a revision into a folder, and return the folder."""
    archive = folder / "tree.zip"
    command = ["git", "-C", str(PROJECT), "archive", "--output", str(archive), revision]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"expected a folder or a revision, got {revision!r}")
    shutil.unpack_archive(archive, folder)
    return folder


def ratios(name: str, other: Path, rounds: int) -> list[float]:
    """Return, for every round, this tree's figure over the other's; nothing if one has none.

    A round is a pair of new processes, because no two are equally fast. The two take turns until
    its time is over, so a neighbour on the machine disturbs both alike.
    """
    found = []
    try:
        for _ in range(rounds):
            with asking(name, PROJECT / "src") as ours, asking(name, other) as theirs:
                found.append(median(turns(ours, theirs)))
    except (OSError, ValueError) as error:  # one has ended, and has said why
        print(f"{name}: {error}", file=sys.stderr)
        return []
    return found


def turns(ours: Callable[[], float], theirs: Callable[[], float]) -> Iterator[float]:
    """Yield our figure over theirs until the time of a round is over; who goes first changes."""
    yield ours() / theirs()  # starting up and warming up is not in the time
    ends = perf_counter() + SECONDS
    while perf_counter() < ends:
        figure = theirs()
        yield ours() / figure
        yield ours() / theirs()


@contextmanager
def asking(name: str, source: Path) -> Iterator[Callable[[], float]]:
    """Start a process that measures the package in a folder, and give what asks for a figure."""
    command = [sys.executable, "-m", "benchmarks.one_row", name, "--paced", "--cpu-time"]
    if hasattr(os, "sched_setaffinity"):
        command += ["--core", str(max(os.sched_getaffinity(0)))]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        asked, answered = process.stdin, process.stdout
        assert asked is not None
        assert answered is not None

        def ask() -> float:
            asked.write("\n")
            return float(answered.readline())

        yield ask
