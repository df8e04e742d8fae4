"""``python -m benchmarks``: measure all rows, pinned to one core and free, and print the table.

With ``--against TREE``, compare what the fake costs in this tree and in another one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .rows import ROWS
from .trees import ratios, source_of

if TYPE_CHECKING:
    from .measuring import Row

ROUNDS = 5
QUICK_ROUNDS = 3
#: One row of each kind, of those that take a few seconds.
SMOKE = (
    "balance-stub",
    "webhook-flask",
    "fastapi-httpx",
    "failed-section",
    "fixture-time",
    "explore-3",
    "message-async",
    "attempt",
    "drop",
    "world",
)
#: What ``--against`` compares, unless ``--rows`` says otherwise.
COSTS = (
    "message",
    "message-silent",
    "message-wsgi",
    "message-async",
    "attempt",
    "drop",
    "world",
    "bulk-memory",
)
PAIRS = 3  # of processes that ``--against`` compares, for each of the rounds above
PATIENCE = 900  # seconds for one row; the longest takes about a minute


def main() -> int:
    """Return 1 if a row could not be measured; a target that is missed is a result like another."""
    arguments = parse()
    modes = [mode for mode in ("pinned", "free") if mode in arguments.modes]
    usual = SMOKE if arguments.smoke else ROWS
    rows = [ROWS[name] for name in arguments.rows or (COSTS if arguments.against else usual)]
    rounds = 1 if arguments.smoke else QUICK_ROUNDS if arguments.quick else ROUNDS
    if arguments.against:
        return compare(rows, arguments.against, PAIRS * rounds)
    print(heading(rounds, f"{'CPU time, free: ' if arguments.cpu_time else ''}wall time"))
    widest = max(len(row.name) for row in rows)
    print(f"\n{'row':{widest}}  " + "  ".join(f"{mode:>23}" for mode in modes) + "  target")
    broken = False
    for row in rows:
        missing = [name for name in row.needs if importlib.util.find_spec(name) is None]
        if missing:
            print(f"{row.name:{widest}}  not measured: {', '.join(missing)} is not installed")
            continue
        cells, verdict = [], ""
        for mode in modes:
            figures = measure(row, mode, rounds, arguments.cpu_time)
            broken = broken or not figures
            cells.append(cell(figures))
            if not arguments.smoke:  # the first mode's: pinned, unless left out
                verdict = verdict or judge(row, figures)
        aim = f"{goal(row)}: {verdict}" if verdict else goal(row)
        print(f"{row.name:{widest}}  {'  '.join(cells)}  {aim}", flush=True)
    print("\n" + "\n".join(f"{row.name:{widest}}  {row.title}" for row in rows))
    return int(broken)


def compare(rows: list[Row], tree: str, rounds: int) -> int:
    """Print this tree's figures over another's; return 1 if a row could not be measured."""
    widest = max(len(row.name) for row in rows)
    broken = False
    with source_of(tree) as other:
        print(heading(rounds, f"CPU time or memory / that of {tree}") + "\n")
        for row in rows:
            figures = ratios(row.name, other, rounds)
            broken = broken or not figures
            print(f"{row.name:{widest}}  {cell(figures)}  {row.title}", flush=True)
    return int(broken)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", nargs="+", metavar="NAME", choices=ROWS, help=", ".join(ROWS))
    parser.add_argument(
        "--against",
        metavar="TREE",
        help="compare CPU time and memory with those of another folder or revision of this project",
    )
    speed = parser.add_mutually_exclusive_group()
    speed.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds, not {ROUNDS}")
    speed.add_argument(
        "--smoke",
        action="store_true",
        help="one round on all cores, of a row of each kind, without a verdict: do they run?",
    )
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="pinned, count the time that processes work, not the wall's: for a busy machine",
    )
    mode = parser.add_mutually_exclusive_group()
    for name, text in (("pinned", "only on one core"), ("free", "only on all cores")):
        mode.add_argument(f"--{name}", dest="modes", action="store_const", const=(name,), help=text)
    parser.set_defaults(modes=("pinned", "free"))
    arguments = parser.parse_args()
    for name in arguments.rows or () if arguments.against else ():
        if ROWS[name].unit == "x":
            parser.error(f"--against compares figures in a unit, and {name} is a ratio")
    if arguments.smoke:
        arguments.modes = ("free",)
    if not hasattr(os, "sched_setaffinity") and "pinned" in arguments.modes:
        print("this system can't pin a process to a core: measuring free only")
        arguments.modes = ("free",)
    return arguments


def heading(rounds: int, what: str) -> str:
    """Say what is measured, where, and whether the machine was quiet."""
    load, cores = os.getloadavg()[0], os.cpu_count()
    text = (
        f"Python {sys.version.partition(' ')[0]}, {cores} cores, {rounds} rounds: "
        f"median (lowest to highest) of {what}"
    )
    if load > 0.5:
        text += f"\nThe machine is not quiet (load {load:.1f}): ratios hold, but they spread."
    return text


def measure(row: Row, mode: str, rounds: int, cpu_time: bool) -> list[float]:
    """Measure a row in a process of its own; no figures if that failed."""
    command = [sys.executable, "-m", "benchmarks.one_row", row.name, "--rounds", str(rounds)]
    if mode == "pinned":
        command += ["--core", str(max(os.sched_getaffinity(0)))]
        if cpu_time:
            command += ["--cpu-time"]
    try:
        run = subprocess.run(
            command,
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            timeout=PATIENCE,
            check=True,
        )
    except subprocess.SubprocessError as error:
        print(f"{row.name}: {error}", file=sys.stderr)
        return []
    figures: list[float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def cell(figures: list[float]) -> str:
    """Show the median and the spread."""
    if not figures:
        return f"{'failed':>23}"
    shown = (min(figures), median(figures), max(figures))
    low, middle, high = (f"{f:.2f}" if f < 100 else f"{f:.0f}" for f in shown)
    return f"{f'{middle} ({low} to {high})':>23}"


def goal(row: Row) -> str:
    """Show what the row should reach, or in what it is measured."""
    if row.target is None:
        return row.unit
    unit = "" if row.unit == "x" else f" {row.unit}"
    return f"{row.bound} {row.target:g}{unit}"


def judge(row: Row, figures: list[float]) -> str:
    """Say whether it does."""
    if not figures or row.target is None:
        return ""
    return "met" if row.reaches(figures) else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
