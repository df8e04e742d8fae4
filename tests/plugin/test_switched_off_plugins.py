"""Runs without some of pytest's own plugins, as tools run it that show results themselves."""

from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

TESTS = module_text("switched_off")

#: Without fixtures that other plugins need for every test, such as monkeypatch. Those that have
#: nothing to do with ours are switched off together.
PLUGINS = [
    *("terminal", "capture", "logging", "warnings", "tmpdir", "assertion", "cacheprovider"),
    *("debugging", "faulthandler unraisableexception threadexception"),
    "pastebin junitxml skipping stepwise unittest",
]

#: Writes how each test ended, whatever shows it.
CONFTEST = """
    from collections import Counter

    ended = Counter()

    def pytest_runtest_logreport(report):
        if report.when == "call" or report.outcome != "passed":
            ended[report.outcome] += 1

    def pytest_sessionfinish(exitstatus):
        with open("ended.txt", "w") as file:
            file.write(f"{int(exitstatus)} {sorted(ended.items())}")
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    def run(*options):
        folder = tmp_path_factory.mktemp("run")
        (folder / "conftest.py").write_text(dedent(CONFTEST))
        (folder / "test_it.py").write_text(dedent(TESTS))
        run_pytest(folder, *options)
        return (folder / "ended.txt").read_text()

    return run


@pytest.fixture(scope="module")
def with_all(ended):
    return ended()


@pytest.mark.parametrize("names", PLUGINS)
def test_without_a_plugin_of_pytest_s_the_tests_end_as_with_it(ended, with_all, names):
    assert ended(*(f"-pno:{name}" for name in names.split())) == with_all
