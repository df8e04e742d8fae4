"""Print the schema of events, and compare recordings with it; extras add commands."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final

from .wire.models import event_schema
from .wire.naming import Naming
from .wire.recordings import read_recording
from .wire.validation import is_other_type, mismatches, summary

#: The entry points of extras: functions that get argparse's ``add_parser``. Each sets the default
#: ``run`` of its parser, which performs the command and returns whether all is well.
_COMMANDS: Final = "pytest_chatfake.commands"

#: What a shell reports for a program whose output was closed: 128 + SIGPIPE.
_BROKEN_PIPE: Final = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status.

    0: all is well. 1: there are mismatches or contradictions, or a threshold failed. 141: the
    output was closed. A command line or a file that can't be used exits with 2.
    """
    parser = ArgumentParser(prog="python -m pytest_chatfake", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    schema = commands.add_parser("schema", help="print the JSON Schema of the events")
    validate = commands.add_parser("validate", help="compare recorded events with the schema")
    for command in (schema, validate):
        command.add_argument(
            "--naming",
            type=_naming,
            default=(Naming(), ()),
            metavar="MODULE:OBJECT",
            help="your Naming, or an object that has one as .naming, such as a ChatFakeConfig",
        )
    schema.set_defaults(run=_schema)
    validate.set_defaults(run=_validate)
    validate.add_argument("files", nargs="+", metavar="FILE", help="JSON, or JSON lines")
    validate.add_argument(
        "--extra-fields",
        action="store_true",
        help="allow fields that the service's description does not mention",
    )
    for entry_point in entry_points(group=_COMMANDS):
        entry_point.load()(commands.add_parser)
    given = parser.parse_args(arguments)
    try:
        is_fine: bool = given.run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Without this, Python would complain on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0 if is_fine else 1


def _schema(given: Namespace) -> bool:
    print(json.dumps(event_schema(*given.naming), indent=2))
    return True


def _validate(given: Namespace) -> bool:
    naming, omit = given.naming
    events = others = found = 0
    for entry in (entry for file in given.files for entry in read_recording(file)):
        if entry.problem:
            problems = [entry.problem]
        else:
            events += 1
            others += is_other_type(entry.json, naming)
            problems = mismatches(entry.json, naming, omit, extra_fields=given.extra_fields)
        found += len(problems)
        for sentence in problems:  # printed at once, as a large file may have millions
            print(f"{entry.where}: {sentence}")
    print(summary(events, others, found))
    return not found


def _naming(text: str) -> tuple[Naming, Collection[str]]:
    # argparse turns an ArgumentTypeError into its own message.
    module, colon, path = text.partition(":")
    if not (module and colon and path):
        raise ArgumentTypeError(
            f"expected MODULE:OBJECT, as in tests.conftest:NAMING, got {text!r}"
        )
    try:
        found: object = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # importing a user's module may fail in any way
        raise ArgumentTypeError(f"{text!r} can't be imported ({error})") from None
    naming = getattr(found, "naming", found)
    if not isinstance(naming, Naming):
        raise ArgumentTypeError(
            f"{text!r}: expected a Naming or something with .naming, got {found!r}"
        )
    return naming, getattr(found, "omit", ())


if __name__ == "__main__":
    sys.exit(main())
