"""Measure one row and print its figures as JSON: a process for each, so that none slows another.

``python -m benchmarks.one_row NAME --rounds N [--core N] [--cpu-time]``
"""

from __future__ import annotations

import argparse
import json
import os

from .measuring import count_cpu_time
from .rows import ROWS


def main() -> None:
    """Pin this process, if a core is given, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=ROWS)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--core", type=int)
    parser.add_argument("--cpu-time", action="store_true")
    arguments = parser.parse_args()
    if arguments.core is not None:
        os.sched_setaffinity(0, {arguments.core})
    if arguments.cpu_time:
        count_cpu_time()
    figures = list(ROWS[arguments.name].sample(arguments.rounds))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
