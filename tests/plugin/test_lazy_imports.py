"""A run that does not use the fixtures pays for next to nothing."""

import sys

import pytest

from ..forked_pytest import PLUGINS

#: What pdb imports since 3.14, and pytest imports pdb.
OF_PDB = {"asyncio", "ssl"} if sys.version_info >= (3, 14) else set()
HEAVY = {"pydantic", "werkzeug.wrappers", "http.client", "asyncio", "ssl", "trio", "zoneinfo"}
HEAVY -= OF_PDB

LIGHT = {f"pytest_chatfake.{name}" for name in ("base", "exploring.hooks", "hooks", "options")}
LIGHT |= {f"pytest_chatfake.base.{name}" for name in ("current_test", "preloading")}
LIGHT |= {*PLUGINS, *(name.rpartition(".")[0] for name in PLUGINS)}


def run(pytester, body):
    """A run with no other plugins than ours and those that ours need."""
    pytester.makepyfile(test_it=body)
    return pytester.runpytest_subprocess(*(f"-p{name}" for name in PLUGINS), timeout=60)


@pytest.fixture(autouse=True)
def _without_other_plugins(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "")


def test_only_the_plugins_are_imported_where_no_fixture_is_used(pytester):
    result = run(
        pytester,
        f"""
        import sys

        def test_it(request):
            ours = {{name for name in sys.modules if name.startswith("pytest_chatfake")}}
            assert {LIGHT} == ours
            assert {HEAVY}.isdisjoint(sys.modules)

        def test_names_of_the_package_are_there_all_the_same():
            from pytest_chatfake import ChatFakeError
            assert issubclass(ChatFakeError, Exception)
            assert "pytest_chatfake.fake.fake" not in sys.modules
        """,
    )
    result.assert_outcomes(passed=2)


def test_our_plugins_read_each_source_once(pytester):
    pytester.makeconftest(
        """
        import pathlib
        import pytest

        names = []
        read = pathlib.Path.read_bytes

        def noted(path):
            names.append(path.name)
            return read(path)

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_collection_finish(session):
            pathlib.Path.read_bytes = noted
            yield
            pathlib.Path.read_bytes = read
        """
    )
    result = run(
        pytester,
        """
        from conftest import names

        def test_it():
            assert sorted(names) == ["conftest.py", "test_it.py"]
        """,
    )
    result.assert_outcomes(passed=1)


def test_a_test_in_process_imports_neither_models_nor_a_loop(pytester):
    pytester.makeconftest("pytest_plugins = ['time_machine']")
    result = run(
        pytester,
        f"""
        import sys

        def test_it(chat_fake, chat_receiver):
            message = chat_fake.send_text().deliver()
            chat_fake.assert_charged("0.05")
            unused = {{"pydantic", "asyncio"}} - {OF_PDB}
            assert unused.isdisjoint(sys.modules)
            assert "pytest_chatfake.wire.models" not in sys.modules
            assert "pytest_chatfake.pages.run" not in sys.modules
        """,
    )
    result.assert_outcomes(passed=1)
