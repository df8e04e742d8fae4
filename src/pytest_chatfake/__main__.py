"""``python -m pytest_chatfake``: the schema of events, and recorded bodies held against it."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from .wire.deviations import deviations
from .wire.naming import Naming
from .wire.recordings import recorded
from .wire.schema import envelope_schema, event_schema, is_other_type

#: The status of a program that the shell has ended because nobody reads on: 128 and SIGPIPE.
_BROKEN_PIPE: Final = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says, and return the exit status.

    Args:
        arguments: Those of the command line; None: the program's own.

    Returns:
        0; 1, if recorded bodies deviate; 141, if nobody reads what is printed.

    Raises:
        SystemExit: The arguments mean nothing, or a file can't be read: with 2.
    """
    parser = ArgumentParser(prog="python -m pytest_chatfake", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    schema = commands.add_parser("schema", help="print the JSON Schema of the events")
    validate = commands.add_parser("validate", help="hold recorded bodies against the schema")
    for command in (schema, validate):
        command.add_argument(
            "--naming",
            type=_naming,
            metavar="MODULE:OBJECT",
            help="your Naming, or what has one as .naming, such as a ChatFakeConfig",
        )
    validate.add_argument("files", nargs="+", metavar="FILE", help="JSON, or JSON lines")
    validate.add_argument(
        "--extra-fields",
        action="store_true",
        help="let fields pass that the service's description does not have",
    )
    given = parser.parse_args(arguments)
    try:
        if given.command == "schema":
            print(json.dumps(event_schema(given.naming), indent=2), flush=True)
            return 0
        return _validate(given.files, given.naming, extra_fields=given.extra_fields)
    except BrokenPipeError:
        # Who reads it has enough, as `head` has. What is left goes nowhere, or Python would tell
        # of it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        parser.error(str(error))


def _validate(files: Sequence[str], naming: Naming | None, *, extra_fields: bool) -> int:
    schema, envelope = event_schema(naming), envelope_schema()
    events = others = found = 0
    for entry in (entry for file in files for entry in recorded(file)):
        if entry.problem:
            told = [entry.problem]
        elif is_other_type(entry.json, naming):
            others += 1
            told = deviations(entry.json, envelope, extra_fields=True)
        else:
            events += 1
            told = deviations(entry.json, schema, extra_fields=extra_fields)
        found += len(told)
        for sentence in told:
            print(f"{entry.where}: {sentence}")
    beside = f", {others:,} of other types (envelope only)" if others else ""
    text = f"{_counted(events + others, 'event')}{beside}, {_counted(found, 'deviation')}"
    print(text, flush=True)
    return 1 if found else 0


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _naming(text: str) -> Naming:
    """Return the naming that a command line means.

    Raises:
        ArgumentTypeError: There is none.
    """
    module, colon, path = text.partition(":")
    if not (module and colon and path):
        raise ArgumentTypeError(f"write MODULE:OBJECT, as in tests.conftest:NAMING, not {text!r}")
    try:
        found: object = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{text!r} can't be imported: {error}") from None
    naming = getattr(found, "naming", found)
    if not isinstance(naming, Naming):
        raise ArgumentTypeError(f"{text!r} is {found!r}, and neither a Naming nor has one")
    return naming


if __name__ == "__main__":
    sys.exit(main())
