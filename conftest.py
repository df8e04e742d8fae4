"""For the whole suite: the fixture for tests of plugins, and peace between and inside its runs."""

import os

import pytest

pytest_plugins = ["pytester"]


def pytest_configure() -> None:
    """Let runs inside a test print the same everywhere.

    Where these are set, pytest does not shorten its summary lines.
    """
    for name in ("CI", "BUILD_NUMBER"):
        os.environ.pop(name, None)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs inside a test leave Django alone.

    A process has one set of Django settings. In ours they are those of ``examples/alerts_django``,
    whose test environment can't be set up a second time.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:django")
    return pytester
