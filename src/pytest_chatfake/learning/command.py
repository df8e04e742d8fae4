"""The program's command ``learn``: prints the configuration that recordings show."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from .configuration import learn


def add_learn(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add the command, as entry points of ``pytest_chatfake.commands`` do."""
    command = add_parser("learn", help="print a configuration inferred from recordings")
    command.add_argument("files", nargs="+", metavar="FILE", help="JSON, or JSON lines")
    command.set_defaults(run=_learn)


def _learn(given: Namespace) -> bool:
    lines, is_fine = learn(given.files)
    print("\n".join(lines))
    return is_fine
