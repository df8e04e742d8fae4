"""A world that fails, as a test of its own: the source of the body, with its deviations."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from types import CellType
from typing import Any, Final, NamedTuple

from .deviations import Deviation

_INDENT: Final = " " * 4
_NAME: Final = "test_what_the_exploration_found"

#: Markers that the printed test does not need: it has one set of values, and is to be run.
_LEFT_OUT: Final = {"parametrize", "skip", "skipif", "xfail"}

_NOTHING: Final = object()

_COMPARING: Final = ".assert_order_independent"


class PrintedTest(NamedTuple):
    """A test to paste.

    Attributes:
        source: Its source.
        function: The test itself, which takes what the body takes.
        is_complete: Whether all that it uses is there where it is pasted.
    """

    source: str
    function: Callable[[Any], Any]
    is_complete: bool


class Written(NamedTuple):
    """A body as it is written, with what it takes from around it.

    Attributes:
        source: Its definition.
        names: What is global to it.
        file: Where it is written.
        lines: Its lines there, as ``test_sale.py:41``.
        around: The values of the variables around it.
        fixtures: Those of them that are fixtures, beside those of the test's signature.
    """

    source: str
    names: Mapping[str, Any]
    file: str
    lines: Sequence[str]
    around: Mapping[str, Any]
    fixtures: Mapping[str, Any] = {}


def body_as_written(body: Callable[..., Any]) -> Written | str:
    """Return a body as it is written; why not, if that is not possible."""
    function = inspect.unwrap(body)
    if not inspect.isfunction(function):
        return "the body is no plain function"
    if function.__name__ == "<lambda>":  # the source of one is the whole line
        return "the body is a lambda"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return "the body's source can't be read"
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    assigned = {name: cell.cell_contents for name, cell in cells if cell != CellType()}
    file = code.co_filename
    numbers = range(code.co_firstlineno, code.co_firstlineno + len(source.splitlines()))
    lines = [f"{Path(file).name}:{number}" for number in numbers]
    return Written(source, function.__globals__, file, lines, assigned)


class _Surroundings(NamedTuple):
    """What a body takes from around it, as a test of its own can have it.

    Attributes:
        indent: Of the test's lines: it is a method where the original is one.
        arguments: The parameters of the test, with their values; the fake has none yet.
        markers: The decorators.
        literals: Lines that assign variables.
        lacking: What can't be written: markers, and variables with their values.
    """

    indent: str
    arguments: dict[str, Any]
    markers: list[str]
    literals: list[str]
    lacking: dict[str, Any]


def _surroundings(body: Written, item: Any) -> _Surroundings:
    """Find what a body takes from around it, in the test that explores."""
    names = body.names
    fixtures = {**getattr(item, "funcargs", {}), **body.fixtures}
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    indent, arguments = "", dict[str, Any]()
    markers, literals, lacking = list[str](), list[str](), dict[str, Any]()
    instance = getattr(item, "instance", None)
    if instance is not None and not getattr(item, "nofuncargs", False):  # as unittest's items
        indent = _INDENT * (1 + type(instance).__qualname__.count("."))
        arguments["self"] = instance
    arguments |= {"chat_fake": None, "chat_clock": None}
    own: Sequence[Any] = getattr(item, "own_markers", ())
    for mark in reversed(own):  # the one next to `def` is first
        if mark.name in _LEFT_OUT:
            continue
        if _literal((mark.args, mark.kwargs), names):
            markers.append(_marker(mark))
        else:
            lacking[f"@pytest.mark.{mark.name}"] = None
    for name, value in body.around.items():
        chosen = parameters.get(name, _NOTHING)
        text = _literal(value, names)
        is_fixture = fixtures.get(name, _NOTHING) is value is not chosen
        if is_fixture and name not in arguments:
            arguments[name] = value
            if text := _literal(chosen, names):
                markers.append(f"@pytest.mark.parametrize({name!r}, [{text}], indirect=True)")
        elif text and (chosen is value or isinstance(value, Hashable)):  # others may have changed
            literals.append(f"{name} = {text}")
        elif arguments.get(name, _NOTHING) is not value:
            lacking[name] = value
    return _Surroundings(indent, arguments, markers, literals, lacking)


def _marker(mark: Any) -> str:
    """Write a mark as a decorator."""
    named = (f"{name}={value!r}" for name, value in mark.kwargs.items())
    arguments = ", ".join([*map(repr, mark.args), *named])
    return f"@pytest.mark.{mark.name}" + (f"({arguments})" if arguments else "")


def _literal(value: object, names: Mapping[str, Any]) -> str:
    """Return an expression that has the value in a module; empty: there is none."""
    for write in (attrgetter("__qualname__"), repr):
        with suppress(Exception):  # whatever a method of the user's raises
            text: str = write(value)
            found = eval(text, {**names})  # noqa: S307 - what the user's own values print
            if type(found) is type(value) and found == value:
                return text
    return ""


def print_test(
    body: Written,
    deviations: Sequence[Deviation],
    *,
    settles: bool,
    snapshots: Sequence[tuple[Any, bool]] = (),
    seed: str = "",
    item: Any = None,
) -> PrintedTest | str:
    """Write the body as a test of its own; return why, if that is not possible.

    Args:
        body: The body.
        deviations: Those of the world that fails.
        settles: Whether the failure came after the body's end.
        snapshots: What the body's snapshots have to be, and whether each is awaited.
        seed: What the ids in these are derived from; empty: there are none.
        item: The test that explores, as pytest has it; None: without pytest.
    """
    if any(dict(deviation.more).get("line") in body.lines for deviation in deviations):
        return "the app crashed at a line of the body, which has another number when pasted"
    try:
        source = as_module(body.source)
        if snapshots:
            source = _with_values(source, snapshots, body.names)
        definition = definition_in(source)
    except SyntaxError:
        return "the body is not written with def"
    except LookupError as error:
        return str(error)
    fake = (*definition.args.posonlyargs, *definition.args.args)[0].arg
    is_async = isinstance(definition, ast.AsyncFunctionDef)
    around = _surroundings(body, item)
    names = {**body.names, **around.lacking}
    lacking = ", ".join(sorted(around.lacking))
    above = [f"# From around the body: {lacking}."] if lacking else []
    if seed:
        around.markers.insert(0, f"@pytest.mark.chat_fake(seed={seed!r})")
    above += ["import pytest"] if around.markers and "pytest" not in names else []
    head = f"{'async ' if is_async else ''}def {_NAME}({', '.join(around.arguments)}):"
    before = [] if fake == "chat_fake" else [f"{fake} = chat_fake"]
    before += [*around.literals, *(f"chat_fake.{deviation}" for deviation in deviations)]
    after = [f"{'await ' if is_async else ''}chat_fake.settle()"] if settles else []
    indent = around.indent + _INDENT
    lines = [
        *(around.indent + line for line in (*above, *around.markers, head)),
        *(indent + line for line in before),
        *lines_inside(source, definition, indent),
        *(indent + line for line in after),
    ]
    code = "\n".join(lines)
    try:
        exec(compile(as_module(code), body.file, "exec"), names)  # noqa: S102 - the user's own body
    except SyntaxError:
        return "the body assigns to names around it"

    def run(fake: Any) -> Any:
        return names[_NAME](**{**around.arguments, "chat_fake": fake, "chat_clock": fake.clock})

    return PrintedTest(code, run, not lacking)


def definition_in(source: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the function that a source defines; a SyntaxError if it does not."""
    definition = ast.parse(source).body[0]
    if isinstance(definition, ast.If):
        definition = definition.body[0]
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return definition
    raise SyntaxError("no def")


def _with_values(
    source: str, snapshots: Sequence[tuple[Any, bool]], names: Mapping[str, Any]
) -> str:
    """Return a source that compares its snapshots with values, where it compared worlds.

    Raises:
        LookupError: That can't be written; the text says why.
    """
    checks = [
        (statement, call)
        for statement in ast.walk(definition_in(source))
        if isinstance(statement, ast.Expr)
        for call in [getattr(statement.value, "value", statement.value)]  # it may be awaited
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(_COMPARING)
    ]
    checks.sort(key=lambda check: check[0].lineno)
    if len(checks) != len(snapshots):
        raise LookupError("assert_order_independent() stands in a loop or a branch")
    lines = source.splitlines()
    for (statement, call), (value, is_awaited) in reversed([*zip(checks, snapshots, strict=True)]):
        expected = _literal(value, names)
        if not expected:
            raise LookupError("the snapshot has values that can't be written as code")
        snapshot = call.args[0] if call.args else call.keywords[0].value
        taken = f"{'await ' * is_awaited}{ast.unparse(snapshot)}()"
        if isinstance(snapshot, ast.Lambda):
            taken = ast.unparse(snapshot.body)
        wait = "await " * isinstance(statement.value, ast.Await)
        settle = f"{wait}{ast.unparse(call.func).removesuffix(_COMPARING)}.settle()"
        indent = lines[statement.lineno - 1][: statement.col_offset]
        lines[statement.lineno - 1 : statement.end_lineno] = [
            f"{indent}{settle}",
            f"{indent}assert {taken} == {expected}",
        ]
    return "\n".join(lines)


def as_module(code: str) -> str:
    """Return code as a module may have it, also if it is indented."""
    return f"if True:\n{code}" if code[0].isspace() else code


def lines_inside(
    source: str, definition: ast.FunctionDef | ast.AsyncFunctionDef, indent: str
) -> list[str]:
    """Return the lines inside a function: as they are written, if moved they mean the same."""
    first = definition.body[0]
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    start = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    written = "\n".join(source.splitlines()[start - 1 : definition.end_lineno])
    moved = [f"{indent}{line}".rstrip() for line in textwrap.dedent(written).splitlines()]
    with suppress(SyntaxError):
        block = ast.parse("\n".join(["if True:", *moved])).body[0]
        inside = block.body if isinstance(block, ast.If) else []
        if [*map(ast.dump, inside)] == [*map(ast.dump, definition.body)]:
            return moved
    unparsed = map(ast.unparse, definition.body)
    return [indent + line for statement in unparsed for line in statement.splitlines()]
