"""A world that fails, as a test of its own: the source of the body, with its deviations."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from .deviations import Deviation

_INDENT: Final = " " * 4
_NAME: Final = "test_what_the_exploration_found"


class PrintedTest(NamedTuple):
    """A test to paste.

    Attributes:
        source: Its source.
        function: The test itself, which takes what the body takes.
    """

    source: str
    function: Callable[[Any], Any]


def print_test(
    body: Callable[..., Any], deviations: Sequence[Deviation], *, settles: bool
) -> PrintedTest | str:
    """Write the body as a test of its own; return why, if that is not possible."""
    function = inspect.unwrap(body)
    if not inspect.isfunction(function):
        return "the body is no plain function"
    try:
        source = inspect.getsource(function)
        definition = ast.parse(f"if True:\n{source}" if source[0].isspace() else source).body[0]
    except (OSError, TypeError, SyntaxError):
        return "the body's source can't be read"
    if isinstance(definition, ast.If):
        definition, source = definition.body[0], f"\n{source}"
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return "the body is not written with def"
    fake = (*definition.args.posonlyargs, *definition.args.args)[0].arg
    is_async = isinstance(definition, ast.AsyncFunctionDef)
    head = f"{'async ' if is_async else ''}def {_NAME}(chat_fake, chat_clock):"
    before = [] if fake == "chat_fake" else [f"{fake} = chat_fake"]
    before += [f"chat_fake.{deviation}" for deviation in deviations]
    after = [f"{'await ' if is_async else ''}chat_fake.settle()"] if settles else []
    code = ""
    for lines in _lines_inside(source, definition):
        inside = [f"{_INDENT}{line}".rstrip() for line in (*before, *lines, *after)]
        code = "\n".join([head, *inside])
        if _is_inside(definition, code, len(before)):
            break
    free = inspect.getclosurevars(function).nonlocals
    comment = [f"# From around the body: {', '.join(sorted(free))}."] if free else []
    names = {**function.__globals__, **free}
    try:
        exec(compile(code, function.__code__.co_filename, "exec"), names)  # noqa: S102 - the user's own body
    except SyntaxError:
        return "the body assigns to names around it"
    test = names[_NAME]

    def run(fake: Any) -> Any:
        return test(fake, fake.clock)

    return PrintedTest("\n".join([*comment, code]), run)


def _lines_inside(
    source: str, definition: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[list[str]]:
    """Give the lines inside a function: as they are written, then as they can be written."""
    first = definition.body[0]
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    start = min([first.lineno, *(one.lineno for one in decorators)])
    if start > definition.lineno:
        inside = source.splitlines()[start - 1 : definition.end_lineno]
        yield textwrap.dedent("\n".join(inside)).splitlines()
    yield "\n".join(map(ast.unparse, definition.body)).splitlines()


def _is_inside(definition: ast.FunctionDef | ast.AsyncFunctionDef, code: str, before: int) -> bool:
    """Return whether a function's lines mean the same in other code."""
    try:
        (made,) = ast.parse(code).body
    except SyntaxError:
        return False
    assert isinstance(made, (ast.FunctionDef, ast.AsyncFunctionDef))
    wanted = [ast.dump(one) for one in definition.body]
    return wanted == [ast.dump(one) for one in made.body][before : before + len(wanted)]
