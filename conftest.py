"""For the whole suite: pytest's own fixture for tests of plugins, and peace between its runs."""

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs inside a test leave Django alone.

    A process has one set of Django settings. In ours they are those of ``examples/alerts_django``,
    whose test environment can't be set up a second time.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:django")
    return pytester
