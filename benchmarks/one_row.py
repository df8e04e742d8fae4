"""Measure one row and print its figures as JSON: a process for each, so that none slows another.

``python -m benchmarks.one_row NAME (--rounds N | --paced) [--core N] [--cpu-time]``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import closing

from .measuring import count_cpu_time
from .rows import ROWS


def main() -> None:
    """Pin this process, if a core is given, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=ROWS)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--rounds", type=int)
    length.add_argument("--paced", action="store_true", help="a round for each line of the input")
    parser.add_argument("--core", type=int)
    parser.add_argument("--cpu-time", action="store_true")
    arguments = parser.parse_args()
    if arguments.core is not None:
        os.sched_setaffinity(0, {arguments.core})
    if arguments.cpu_time:
        count_cpu_time()
    with closing(ROWS[arguments.name].sample(arguments.rounds or sys.maxsize)) as figures:
        if arguments.paced:
            for _ in sys.stdin:
                print(next(figures), flush=True)
        else:
            print(json.dumps(list(figures)))


if __name__ == "__main__":
    main()
