"""For the whole suite: the fixture for tests of plugins, and peace between and inside its runs."""

import gc
import os
from collections.abc import Generator

import pytest

pytest_plugins = ["pytester"]


def pytest_configure() -> None:
    """Let runs inside a test print the same everywhere.

    Where these are set, pytest does not shorten its summary lines.
    """
    for name in ("CI", "BUILD_NUMBER"):
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: nearly all that is made there lasts."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


#: Plugins that runs inside a test do without; the one that needs one says ``-p`` and its name.
#: A process has one set of Django settings: in ours they are those of ``examples/alerts_django``,
#: whose test environment can't be set up a second time. To import the others takes longer than most
#: of these runs.
LEFT_OUT = ("django", "asyncio", "anyio", "respx", "hypothesispytest", "inline_snapshot")


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs inside a test have few plugins beside ours."""
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in LEFT_OUT))
    return pytester
