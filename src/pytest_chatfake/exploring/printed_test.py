"""Prints a failing world as a test to paste: its deviations, and a call of the body.

The text is never executed here, and values are only written if they are plain data.
"""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from types import CellType
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from .deviations import Deviation

_INDENT: Final = " " * 4
_NAME: Final = "test_what_the_exploration_found"

#: Markers that would parametrize the printed test, or prevent it from running.
_LEFT_OUT: Final = {"parametrize", "skip", "skipif", "xfail"}

#: Plugins that run async tests, each named like its marker.
_ASYNC_PLUGINS: Final = ("asyncio", "anyio")

_NOTHING: Final = object()

#: Types whose repr() is code; a subclass's repr() may be anything, even a call.
_PLAIN: Final = {
    *(bool, bytes, float, int, str, type(None)),
    *(Decimal, UUID, dt.date, dt.datetime, dt.timedelta),
}

#: Names in such code, and their imports.
_IMPORTS: Final[Mapping[str, tuple[object, str]]] = {
    "Decimal": (Decimal, "from decimal import Decimal"),
    "UUID": (UUID, "from uuid import UUID"),
    "datetime": (dt, "import datetime"),
}


class NoTestError(Exception):
    """A world can't be written as a test; the message says why."""


class Written(NamedTuple):
    """What a test does in each world, as lines of the printed test.

    Attributes:
        calls: The lines after the deviations.
        is_async: Whether the lines await.
        names: The globals of the lines.
        source: The function that they call, if it is not global.
        around: The enclosing variables that the function uses, with their values.
        fixtures: The fixtures that the lines use.
        imports: The imports that the lines need.
    """

    calls: Sequence[str]
    is_async: bool
    names: Mapping[str, Any]
    source: str = ""
    around: Mapping[str, Any] = {}
    fixtures: Sequence[str] = ()
    imports: Sequence[str] = ()


def body_as_written(body: Any, deviations: Sequence[Deviation], *, settles: bool) -> Written:
    """Return a user's own body as written.

    Args:
        body: The body.
        deviations: The failing world's deviations.
        settles: Whether the world only failed after the end of the body.

    Raises:
        NoTestError: The body has no source, or would do something else in another place.
    """
    name, is_async = getattr(body, "__name__", ""), inspect.iscoroutinefunction(body)
    if inspect.unwrap(body) is not body or not inspect.isfunction(body):
        raise NoTestError("the body isn't a plain function")
    code, wait = body.__code__, "await " * is_async
    if "assert_order_independent" in code.co_names:
        raise NoTestError("the body compares worlds")
    calls = [f"{wait}{name}(chat_fake)", *[f"{wait}chat_fake.settle()"] * settles]
    written = Written(calls, is_async, body.__globals__)
    if getattr(sys.modules.get(body.__module__), name, None) is body:
        return written
    try:
        lines, first = inspect.getsourcelines(body)
    except (OSError, TypeError):
        raise NoTestError("the body's source can't be read") from None
    places = [f"{Path(code.co_filename).name}:{first + index}" for index in range(len(lines))]
    if any(dict(deviation.more).get("line") in places for deviation in deviations):
        raise NoTestError("the app crashed at a line of the body, whose number would change")
    source = "".join(lines)
    found = re.search(rf"^ *(async )?def {name}\b", source, re.MULTILINE)  # below decorators
    if found is None:
        raise NoTestError("the body is not written with def")
    cells = zip(code.co_freevars, body.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if cell != CellType()}
    return written._replace(source=source[found.start() :], around=around)


def print_test(body: Written, deviations: Sequence[Deviation], *, seed: str, item: Any) -> str:
    """Write a test that does what a body does, with deviations.

    Args:
        body: The body.
        deviations: The failing world's deviations.
        seed: The seed of the ids in its values; empty: there are none.
        item: pytest's item for the exploring test; None: without pytest.

    Raises:
        NoTestError: The body can't be indented differently.
    """
    instance = getattr(item, "instance", None)
    # Only pytest's items for unittest have nofuncargs.
    is_method = instance is not None and not getattr(item, "nofuncargs", False)
    indent = _INDENT * (1 + type(instance).__qualname__.count(".")) * is_method
    above, markers, lacking = _markers(item, body)
    markers += [f"@pytest.mark.chat_fake(seed={seed!r})"] * bool(seed)
    above += ["import pytest"] * (bool(markers) and "pytest" not in body.names)
    arguments = [*["self"] * is_method, "chat_fake", "chat_clock", *body.fixtures]
    fixtures = {**getattr(item, "funcargs", {}), **({"self": instance} if is_method else {})}
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    imports, assigned = [*body.imports], list[str]()
    for name, value in body.around.items():
        changes = type(value) in {dict, list, set} and name not in parameters
        here = (key for key, it in body.names.items() if it is value and key.isidentifier())
        if fixtures.get(name, _NOTHING) is value and name not in parameters:
            arguments += [name] * (name not in arguments)
        elif text := ("" if changes else as_code(value, body.names, imports)) or next(here, ""):
            assigned.append(f"{name} = {text}")
        else:
            lacking.append(name)
    needed = [f"# It needs {', '.join(sorted(lacking))}."] * bool(lacking)
    if body.fixtures and parameters:
        needed.append(f"# Its values are those of the parameter set [{item.callspec.id}].")
    head = f"{'async ' * body.is_async}def {_NAME}({', '.join(arguments)}):"
    inside = indent + _INDENT
    lines = [
        *(indent + line for line in (*needed, *above, *markers, head)),
        *(inside + line for line in (*dict.fromkeys(imports), *assigned)),
        *(f"{inside}chat_fake.{deviation}" for deviation in deviations),
        *_moved(body.source, inside),
        *(inside + line for line in body.calls),
    ]
    return "\n".join(lines)


def _moved(source: str, indent: str) -> list[str]:
    if re.match(rf"{indent}\S", source):
        return source.splitlines()
    moved = textwrap.indent(textwrap.dedent(source), indent)
    was, becomes = (ast.dump(ast.parse(f"if True:\n{text or ' pass'}")) for text in (source, moved))
    if was != becomes:
        raise NoTestError("the body has a multi-line string, which can't be indented differently")
    return moved.splitlines()


def _markers(item: Any, body: Written) -> tuple[list[str], list[str], list[str]]:
    # The imports, the markers, and whatever can't be written as code.
    imports, markers, lacking = list[str](), list[str](), list[str]()
    own: Sequence[Any] = getattr(item, "own_markers", ())
    for marker in reversed(own):  # the one next to `def` is first
        if marker.name in _LEFT_OUT:
            continue
        keys = [""] * len(marker.args) + [f"{name}=" for name in marker.kwargs]
        given = *marker.args, *marker.kwargs.values()
        values = [as_code(value, body.names, imports) for value in given]
        if all(values):
            text = f"@pytest.mark.{marker.name}({', '.join(map(str.__add__, keys, values))})"
            markers.append(text.removesuffix("()"))
        else:
            lacking.append(f"@pytest.mark.{marker.name}")
    is_marked = item is not None and any(map(item.get_closest_marker, _ASYNC_PLUGINS))
    if body.is_async and not is_marked:
        plugins = item and item.config.pluginmanager
        present = [name for name in _ASYNC_PLUGINS if plugins and plugins.hasplugin(name)]
        markers += [f"@pytest.mark.{name}" for name in present[:1]]
        lacking += [] if present else ["a plugin for async tests, such as pytest-asyncio"]
    return imports, markers, lacking


def as_code(value: Any, names: Mapping[str, Any], imports: list[str]) -> str:
    """Return plain data as an expression; empty if the value is something else.

    Args:
        value: The data: numbers, strings, dates, and lists and dicts of them.
        names: The globals of the code.
        imports: A list to which the import lines for the expression are added.
    """
    text = ""
    with suppress(RecursionError):
        text = repr(value) if _is_plain(value) else ""
    for name, (found, line) in _IMPORTS.items():
        if re.search(rf"\b{name}\b", text) and names.get(name) is not found:
            if name in names:
                return ""
            imports.append(line)
    return text


def _is_plain(value: object) -> bool:
    kind, inside = type(value), cast("Any", value)
    if kind is dict:
        return all(map(_is_plain, (*inside, *inside.values())))
    if kind in {list, set, tuple}:
        return all(map(_is_plain, inside))
    zone = inside.tzinfo if kind is dt.datetime else None
    is_utc = zone is None or zone is dt.UTC  # another zone's repr() may be anything
    return kind in _PLAIN and is_utc and repr(value)[-3:] not in {"inf", "nan"}
