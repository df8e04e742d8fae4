"""Which module may import which: the tables of the design page, held against the imports."""

# Asserts read `expected == actual`.

from __future__ import annotations

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "pytest_chatfake"
DESIGN = (ROOT / "docs" / "explanation" / "design.md").read_text("utf-8")


def module_name(path: Path) -> str:
    """A module's name inside the package; "" is the package itself."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix("__init__").strip(".")


MODULES = {module_name(path): path for path in SRC.rglob("*.py")}


def statements(node: ast.AST, *, annotations: bool) -> Iterator[ast.stmt]:
    """Give all statements below a node, those under TYPE_CHECKING only with `annotations`."""
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(child, ast.If)
            and ast.unparse(child.test) == "TYPE_CHECKING"
            and not annotations
        ):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child, annotations=annotations)


def imports(name: str, *, annotations: bool = False) -> tuple[set[str], set[str]]:
    """What a module imports, wherever it does so: modules of ours, and libraries."""
    path = MODULES[name]
    package = list(path.parent.relative_to(SRC).parts)
    ours: set[str] = set()
    others: set[str] = set()
    for node in statements(ast.parse(path.read_text("utf-8")), annotations=annotations):
        if isinstance(node, ast.Import):
            others |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module is not None
            others.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            home = [*package[: len(package) - node.level + 1], *filter(None, [node.module])]
            for alias in node.names:
                inner = ".".join([*home, alias.name])
                ours.add(inner if inner in MODULES else ".".join(home))
    return ours, {one for one in others if one not in sys.stdlib_module_names}


def layers() -> dict[str, int]:
    """The layer of each part, from the design page; 1 is the top."""
    rows = re.findall(r"^\| (\d) \| ([^|]+) \|", DESIGN, re.MULTILINE)
    return {part: int(row[0]) for row in rows for part in re.findall(r"`(\w+)`", row[1])}


LAYERS = layers()
PARTS = sorted(name for name in MODULES if name)


def part(name: str) -> str:
    """The part of the house that a module belongs to: its package, or itself."""
    return name.partition(".")[0]


def test_every_part_has_its_layer() -> None:
    assert set(LAYERS) == {part(name) for name in PARTS}


@pytest.mark.parametrize("name", PARTS)
def test_a_module_imports_from_lower_layers_and_from_its_own_package_only(name: str) -> None:
    ours, _ = imports(name)
    wrong = {
        other
        for other in ours
        if part(other) != part(name) and LAYERS.get(part(other), 0) <= LAYERS[part(name)]
    }
    assert set() == wrong


def test_there_are_no_cycles() -> None:
    order = list(TopologicalSorter({name: imports(name)[0] for name in PARTS}).static_order())
    assert set(PARTS) <= {*order}


@pytest.mark.parametrize("name", [name for name in PARTS if part(name) == "domain"])
def test_the_domain_knows_itself_and_its_errors_even_in_annotations(name: str) -> None:
    ours, others = imports(name, annotations=True)
    assert {"domain", "exceptions"} >= {part(other) for other in ours}
    assert set() == others


@pytest.mark.parametrize("name", ["arguments", "callsite", "exceptions", "tracebacks"])
def test_the_leaves_import_nothing_of_ours(name: str) -> None:
    assert set() == imports(name, annotations=True)[0]


def test_nobody_imports_the_plugin() -> None:
    assert [] == [name for name in PARTS if "plugin" in imports(name, annotations=True)[0]]


def test_each_library_comes_in_where_the_design_page_says() -> None:
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| ((?:`[\w.]+`(?:, )?)+) \|$", DESIGN, re.MULTILINE
    )
    doors = {
        (library, door)
        for libraries, modules in rows
        for library in re.findall(r"`(\w+)`", libraries)
        for door in re.findall(r"`([\w.]+)`", modules)
    }
    used = {(library, name) for name in PARTS for library in imports(name)[1]}
    assert doors == {
        (library, part(name) if (library, part(name)) in doors else name) for library, name in used
    }


@pytest.mark.parametrize("name", ["", "plugin"])
def test_what_every_run_loads_imports_nothing_heavy_before_it_is_used(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    at_once = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in at_once
    }
    assert {"__future__", "typing", "importlib", "inspect", "pytest", "sys"} >= names


def test_the_imports_are_really_read() -> None:
    ours, others = imports("server.listener")
    assert {"server.connection", "server.replies"} <= ours
    assert {"pytest_httpserver", "werkzeug"} == others
    assert "engine" in imports("scenario", annotations=True)[0] - imports("scenario")[0]
    assert "fake" in imports("plugin")[0]  # inside a function
