"""The program's command ``merge``: one result for runs on several machines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable


def add_merge(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add the command, as entry points of ``pytest_chatfake.commands`` do."""
    command = add_parser("merge", help="merge the results of runs on several machines")
    command.set_defaults(run=_merge)
    command.add_argument(
        "files", nargs="+", metavar="FILE", help="a file that --chat-fake-data wrote"
    )
    for name, text in (
        ("--coverage", "show which parts of the service the tests never tried"),
        ("--mutants", "show which false facts no test noticed"),
    ):
        command.add_argument(name, dest=name, action="store_true", help=text)
    for name, value, text in (
        ("--report", "PATH", "write a page of all tests to PATH"),
        ("--fail-under", "N", "fail if less than N percent were tried (with --mutants: noticed)"),
    ):
        command.add_argument(name, dest=name, metavar=value, help=text)


def _merge(given: Namespace) -> bool:
    from .merge import merge  # other commands need no pytest

    lines, is_fine = merge(given.files, vars(given).get)
    print("\n".join(lines))
    return is_fine
