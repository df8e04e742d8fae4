"""What `import pytest_chatfake` gives: the names, and nothing heavy before it is used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pytest_chatfake

PACKAGE = Path(pytest_chatfake.__file__)


def printed_by(*lines):
    """The words that a new process prints for these lines of code."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(["import sys", *lines])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


def test_the_names_are_sorted_and_there_once():
    assert sorted(set(pytest_chatfake.__all__)) == pytest_chatfake.__all__


def test_a_name_is_the_thing_that_type_checkers_see():
    tree = ast.parse(PACKAGE.read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    assert homes.keys() == {*pytest_chatfake.__all__}
    for name, home in homes.items():
        if (PACKAGE.parent / home.partition(".")[0]).is_dir():  # an extra may be missing
            there = getattr(import_module(f"pytest_chatfake.{home}"), name)
            assert getattr(pytest_chatfake, name) is there
            assert name in {"DEFAULT", getattr(there, "__name__", "")}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pytest_chatfake' has no attribute 'Chat'"):
        _ = pytest_chatfake.Chat


def test_the_names_are_listed_before_anything_is_imported():
    listed = printed_by("import pytest_chatfake", "print(*dir(pytest_chatfake))")

    assert set(pytest_chatfake.__all__) <= set(listed)
    assert sorted(listed) == listed


def test_freezegun_is_refused_what_is_not_loaded_and_no_other_caller_is(monkeypatch):
    monkeypatch.delitem(vars(pytest_chatfake), "Fault", raising=False)
    freezegun = {"__name__": "freezegun.api", "package": pytest_chatfake}

    with pytest.raises(AttributeError, match="'Fault' is not loaded yet"):
        eval("package.Fault", freezegun)
    assert pytest_chatfake.Fault is eval("package.Fault", {"package": pytest_chatfake})


def test_importing_the_package_imports_nothing_heavy():
    loaded = printed_by(
        "before = {*sys.modules}",
        "import pytest_chatfake",
        "print(*{*sys.modules} - before)",
        "from freezegun import freeze_time",
        "with freeze_time('2026-01-01'): pass",  # looks at every name
        "print(*(name for name in sys.modules if name.startswith('pytest_chatfake')))",
    )
    heavy = {"asyncio", "decimal", "http", "json", "pydantic", "pytest", "time_machine", "werkzeug"}

    assert heavy.isdisjoint(loaded)
    assert {name for name in loaded if name.startswith("pytest_chatfake")} == {"pytest_chatfake"}


def test_what_a_conftest_needs_brings_no_server_and_no_models():
    names = "ChatFakeConfig, ChatFakeError, Naming, PlatformError"
    loaded = printed_by(f"from pytest_chatfake import {names}", "print(*sys.modules)")

    assert {"pydantic", "pytest_httpserver", "werkzeug", "time_machine"}.isdisjoint(loaded)
