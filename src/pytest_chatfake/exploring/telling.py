"""A world that fails, told: what deviated, what happened, and a test to paste."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ..report.happenings import length
from .moves import Move
from .search import Log, Step

_INDENT: Final = " " * 4


def sentence(move: Move, log: Log) -> str:
    """Say what a move did in a world.

    Args:
        move: The move.
        log: What happened in the world.
    """
    steps = [step for step in log.steps if step is not None]
    if not move.of_attempts:
        return f"the webhooks that call {move.start} causes came before its answer"
    places = [place for place, step in enumerate(steps) if step.chance == move.start]
    if not places:
        return f"attempt {move.start} deviated, and was not made"
    mine = steps[places[0]]
    name = _events([mine]) + (f" at {mine.at}" if mine.at else "")
    if move.kind == "reorder":
        overtaking = [one for one in steps[: places[0]] if one.chance > move.start]
        if not overtaking:
            return f"{name} was attempted late"
        were = "was" if len(overtaking) == 1 else "were"
        its = _events([mine], overtaking) + (f" at {mine.at}" if mine.at else "")
        return f"{_events(overtaking)} {were} attempted before {its}"
    if move.kind == "concurrently":
        return _together(mine, [one for one in steps if one.round and one.round == mine.round])
    if move.kind == "duplicate_later":
        return f"{name} came twice, the second time after time was moved by {length(move.steps)}"
    if move.kind == "drop":
        return f"{name} was never attempted at the app"
    between = steps[places[0] + 1 : places[1]] if len(places) > 1 else []
    where = f"after {_events(between, [mine])}" if between else "at once"
    if move.kind == "duplicate":
        return f"{name} came twice, the second time {where}"
    if move.kind == "lose_response":
        return f"the app's answer to {name} was lost, and it came again {where}"
    return f"{name} was refused before the app had it, and came {where}"


def _together(mine: Step, beside: Sequence[Step]) -> str:
    """Say what was attempted at the same time as an attempt, itself included."""
    where = [one for one in dict.fromkeys(step.at for step in beside) if one]
    at = f" at {_and(where)}" if where else ""
    if not beside:
        return f"{_events([mine])} was attempted late"
    if len({(one.message, one.what) for one in beside}) > 1:
        return f"{_events(beside)} were attempted at the same time{at}"
    twice = "" if len(where) > 1 else " twice"
    return f"{_events([mine])} was attempted{twice}{at} at the same time"


def _events(steps: Sequence[Step], known: Sequence[Step] = ()) -> str:
    """Name events, those of one message together.

    Args:
        steps: Attempts at them.
        known: What was named before: if all of that is about the same message, it is "its".
    """
    groups: dict[int, list[str]] = {}
    for step in steps:
        names = groups.setdefault(step.message, [])
        if step.what not in names:
            names.append(step.what)
    before = {step.message for step in known}
    parts: list[str] = []
    for message, names in groups.items():
        shown = _and([f"`{name}`" for name in names])
        noun = "event" if len(names) == 1 else "events"
        own = message and before == {message}
        of = "" if own or not message else f" of m{message}"
        parts.append(f"{'its' if own else 'the'} {shown} {noun}{of}")
    if len(parts) > 3:
        parts = [*parts[:2], f"those of {len(parts) - 2} more messages"]
    return _and(parts)


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


class Pasted(NamedTuple):
    """A test that is the body with its deviations.

    Attributes:
        text: Its source, to be shown.
        function: The test itself, which takes what the body takes.
    """

    text: str
    function: Callable[[Any], Any]


def pasted(body: Callable[..., Any], moves: Sequence[Move], *, settles: bool) -> Pasted | str:
    """Write the body as a test of its own; return why, if that is not possible.

    Args:
        body: The body.
        moves: What deviates: one line for each.
        settles: Whether it has to settle at its end to fail.
    """
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
    given = (*definition.args.posonlyargs, *definition.args.args)[0].arg
    is_async = isinstance(definition, ast.AsyncFunctionDef)
    name = "test_what_the_exploration_found"
    head = f"{'async ' if is_async else ''}def {name}(chat_fake, chat_clock):"
    own = [] if given == "chat_fake" else [f"{given} = chat_fake"]
    own += [f"chat_fake.{move.verb}" for move in moves]
    end = [f"{'await ' if is_async else ''}chat_fake.settle()"] if settles else []
    code = ""
    for inner in _inner(source, definition):
        body_lines = [*own, *inner, *end]
        code = "\n".join([head, *(f"{_INDENT}{line}".rstrip() for line in body_lines)])
        if _is_inside(definition, code, len(own)):
            break
    free = inspect.getclosurevars(function).nonlocals
    comment = [f"# From around the body: {', '.join(sorted(free))}."] if free else []
    space = {**function.__globals__, **free}
    try:
        exec(compile(code, function.__code__.co_filename, "exec"), space)  # noqa: S102 - the user's own body
    except SyntaxError:
        return "the body assigns to names around it"
    test = space[name]

    def run_it(fake: Any) -> Any:
        return test(fake, fake.clock)

    return Pasted("\n".join([*comment, code]), run_it)


def _inner(source: str, definition: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[list[str]]:
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
