"""pytest's door to the pages of runs: their options, and the plugin of a run that has one.

It is loaded in every run of pytest, so its parts are imported inside functions.
"""

from __future__ import annotations

import pytest

from ..options import any_given, declare

#: As in ``options``.
_FLAGS = {
    "--chat-fake-report": (
        "PATH",
        "write an HTML page to PATH: each test with its failure and its timeline",
    ),
    "--chat-fake-coverage": (
        "",
        "list after the run which statuses, faults and errors of the service no test tried",
    ),
    "--chat-fake-coverage-fail-under": (
        "N",
        "the same, and fail the run if its tests tried less than N percent",
    ),
    "--chat-fake-data": (
        "FILE",
        (
            "write page, coverage and mutants as data to FILE: python -m pytest_chatfake merge "
            "makes one result of the files of several jobs"
        ),
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    declare(parser, {}, _FLAGS)


@pytest.hookimpl(tryfirst=True)  # so that others judge the run before it is shown
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin of a run that was asked for more than failures."""
    if any_given(config, _FLAGS):
        from .run import Run

        try:
            config.pluginmanager.register(Run(config, _FLAGS), "chatfake-run")
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
