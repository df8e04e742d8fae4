"""Which room may import which: the tables of ARCHITECTURE.md, and the imports."""

# Asserts read `expected == actual`.

import ast
import re
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "pytest_chatfake"
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")

#: A room's name in a table of the page.
ROOM = r"`(\w+)`"


def module_name(path):
    """A module's name inside the package; "" is the package itself."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix("__init__").strip(".")


MODULES = {module_name(path): path for path in SRC.rglob("*.py")}


def room(name):
    """The room of a module: the first folder, or the loose file."""
    return name.partition(".")[0]


@cache
def imports(name):
    """What a module imports: modules of ours, and libraries.

    Everywhere: at the top, inside functions, and for annotations only.
    """
    path = MODULES[name]
    package = list(path.parent.relative_to(SRC).parts)
    ours = set()
    others = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
    libraries = others - sys.stdlib_module_names - {"_typeshed"}
    return frozenset(ours - {name}), frozenset(libraries)


PARTS = sorted(name for name in MODULES if name)
ARROWS = {
    (room(name), room(other))
    for name in PARTS
    for other in imports(name)[0]
    if room(other) != room(name)
}


def arrows_of_the_table():
    """The pairs that the table of rooms allows."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]*) ?\|$", PAGE, re.MULTILINE)
    return {(upper, lower) for upper, cell in rows for lower in re.findall(ROOM, cell)}


def test_every_import_is_an_arrow_of_the_table_and_every_arrow_is_imported():
    assert arrows_of_the_table() == ARROWS


def test_rooms_are_folders_and_few():
    loose = {path.stem for path in SRC.glob("*.py")}
    assert {"__init__", "__main__", "hooks", "options", "plugin"} == loose
    assert len({room(name) for name in PARTS}) <= 19
    assert len(ARROWS) <= 75


@pytest.mark.parametrize("of", ["rooms", "files"])
def test_there_are_no_circles(of):
    graph = {}
    for name in PARTS:
        for other in imports(name)[0] - {""}:
            if of == "files":
                graph.setdefault(name, set()).add(other)
            elif room(other) != room(name):
                graph.setdefault(room(name), set()).add(room(other))
    order = list(TopologicalSorter(graph).static_order())
    assert set(graph) <= {*order}


def test_the_domain_knows_the_standard_library_and_the_base_only():
    inside = [name for name in PARTS if room(name) == "domain"]
    assert {"domain", "base"} == {room(other) for name in inside for other in imports(name)[0]}
    assert [] == [name for name in inside if imports(name)[1]]


def test_nothing_below_the_engine_names_it():
    below = {"webhooks", "wire", "transport", "domain", "base"}
    naming = [
        name
        for name in PARTS
        if room(name) in below and re.search(r"\bEngine\b", MODULES[name].read_text("utf-8"))
    ]
    assert [] == naming


def test_nobody_imports_the_plugin():
    assert [] == [name for name in PARTS if "plugin" in imports(name)[0]]


def test_no_other_room_imports_an_extra_and_each_has_an_entry_point():
    extras = {*re.findall(r"^\| `(\w+)` \| An extra: ", PAGE, re.MULTILINE)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entry_points = [entry for group in project["entry-points"].values() for entry in group.values()]
    assert extras == {entry.split(".")[1] for entry in entry_points} - {"plugin"}
    assert set() == {lower for upper, lower in ARROWS if upper not in extras} & extras


def test_each_library_comes_in_where_the_page_says():
    rows = re.findall(r"^\| `(\w+)` \| ((?:`[\w.]+`(?:, )?)+) \|$", PAGE, re.MULTILINE)
    doors = {(library, door) for library, cell in rows for door in re.findall(r"`([\w.]+)`", cell)}

    def door(library, name):
        """The outermost door of the page that a module stands behind; else the module."""
        homes = [name.rsplit(".", depth)[0] for depth in range(name.count("."), -1, -1)]
        return next((home for home in homes if (library, home) in doors), name)

    assert doors == {(one, door(one, name)) for name in PARTS for one in imports(name)[1]}


@pytest.mark.parametrize("name", ["", "options", "plugin", "base", "base.current_test"])
def test_what_every_run_loads_imports_nothing_heavy_before_it_is_used(name):
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    at_once = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in at_once
    }
    light = {"contextlib", "importlib", "inspect", "os", "sys", "typing"}
    light |= {"collections", "collections.abc", "functools", "threading", "types"}
    assert {"__future__", "pytest", None, "base.current_test", *light} >= names


def test_the_imports_are_really_read():
    ours, others = imports("transport.server.listener")
    assert {"transport.server.replies"} == ours
    assert {"pytest_httpserver", "werkzeug"} == others
    assert "transport.server.listener" in imports("http_api.service")[0]  # for annotations
    assert "fake.fake" in imports("plugin")[0]  # inside a function
