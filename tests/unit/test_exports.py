"""What `import pytest_chatfake` gives: the names, and nothing heavy before it is used."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pytest_chatfake

ROOT = Path(__file__).parents[2]
PACKAGE = Path(pytest_chatfake.__file__).parent

#: The names whose room is there: an extra may be missing.
HERE = [
    name for name, home in pytest_chatfake._HOMES.items() if (PACKAGE / home.split(".")[0]).is_dir()
]


def modules_after(statement):
    """The modules that a new process has loaded after a statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def ours(modules):
    return {name for name in modules if name.partition(".")[0] == "pytest_chatfake"}


def test_the_names_are_sorted_and_there_once():
    assert sorted(set(pytest_chatfake.__all__)) == pytest_chatfake.__all__


@pytest.mark.parametrize("name", HERE)
def test_a_name_is_the_thing_of_that_name(name):
    thing = getattr(pytest_chatfake, name)
    if name == "DEFAULT":
        assert thing is import_module(f"pytest_chatfake.{pytest_chatfake._HOMES[name]}").DEFAULT
        return
    assert name == thing.__name__
    assert thing.__module__.partition(".")[0] == "pytest_chatfake"


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(pytest_chatfake.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name: f"{home}.{name}" for name, home in pytest_chatfake._HOMES.items()} == seen


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pytest_chatfake' has no attribute 'Chat'"):
        _ = pytest_chatfake.Chat


def test_the_names_are_listed_before_anything_is_imported():
    listed = subprocess.run(
        [sys.executable, "-c", "import pytest_chatfake; print(*dir(pytest_chatfake))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.split()

    assert set(pytest_chatfake.__all__) <= set(listed)
    assert sorted(listed) == listed


def test_freezegun_is_refused_what_is_not_loaded_and_no_other_caller_is(monkeypatch):
    monkeypatch.delitem(vars(pytest_chatfake), "Fault", raising=False)
    freezegun = {"__name__": "freezegun.api", "package": pytest_chatfake}

    with pytest.raises(AttributeError, match="'Fault' is not loaded yet"):
        eval("package.Fault", freezegun)
    assert pytest_chatfake.Fault is eval("package.Fault", {"package": pytest_chatfake})


def test_freezegun_can_look_at_every_name_and_imports_nothing_by_it():
    loaded = modules_after(
        "import pytest_chatfake; from freezegun import freeze_time\n"
        "with freeze_time('2026-01-01'): pass"
    )

    assert {"pytest_chatfake"} == ours(loaded)


def test_importing_the_package_imports_none_of_its_parts():
    before = modules_after("pass")
    after = modules_after("import pytest_chatfake")
    assert {"pytest_chatfake"} == ours(after)
    heavy = {"asyncio", "decimal", "http", "json", "pydantic", "pytest", "time_machine", "werkzeug"}
    assert set() == (after - before) & heavy


def test_loading_the_plugin_imports_the_current_test_and_no_other_part():
    before = modules_after("import pytest")
    after = modules_after("import pytest\nimport pytest_chatfake.plugin")
    assert {
        "pytest_chatfake",
        "pytest_chatfake.base",
        "pytest_chatfake.base.current_test",
        "pytest_chatfake.options",
        "pytest_chatfake.plugin",
    } == ours(after)
    assert {"pydantic", "time_machine", "werkzeug", "pytest_httpserver"} & (after - before) == set()


@pytest.mark.parametrize("name", ["ChatFakeConfig", "Naming", "ChatFakeError", "PlatformError"])
def test_what_a_conftest_needs_brings_no_server_and_no_models(name):
    after = modules_after(f"from pytest_chatfake import {name}")
    assert set() == after & {"pydantic", "pytest_httpserver", "werkzeug", "time_machine"}


def test_every_name_is_in_the_reference_and_every_object_of_it_is_public():
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text("utf-8") for page in pages)
    in_code = {word for code in re.findall(r"`[^`\n]+`", text) for word in re.findall(r"\w+", code)}
    headings = set(re.findall(r"^##+ `([A-Z]\w+)`$", text, re.MULTILINE))
    assert set() == set(pytest_chatfake._HOMES) - in_code
    assert set() == headings - set(pytest_chatfake._HOMES)
