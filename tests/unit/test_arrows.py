"""The contracts of import-linter in pyproject.toml leave out no library and no extra."""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = {each["name"]: each for each in PROJECT["tool"]["importlinter"]["contracts"]}


def imported():
    """The first name of each module that is imported from outside the package, wherever that is."""
    for path in (ROOT / "src" / "pytest_chatfake").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.partition(".")[0]


def test_every_library_that_is_imported_has_its_places_in_the_contract():
    libraries = CONTRACTS["Libraries are imported only here"]["forbidden_modules"]
    for_annotations = {"_typeshed"}
    assert {*libraries} == {*imported()} - {*sys.stdlib_module_names} - for_annotations


def test_every_extra_has_an_entry_point_and_stands_in_the_contract():
    groups = PROJECT["project"]["entry-points"].values()
    entries = {entry.partition(":")[0] for group in groups for entry in group.values()}
    extras = {module.rpartition(".")[0] for module in entries} - {"pytest_chatfake"}
    assert {*CONTRACTS["The core knows no extra"]["protected_modules"]} == extras
