"""The plugin for pages: their options, and the plugin of a run that has a page.

Every pytest run loads it, so its parts are imported inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..options import any_given, declare

if TYPE_CHECKING:
    from ..report.section import Section

#: Names, placeholders and help texts.
_FLAGS = {
    "--chat-fake-report": (
        "PATH",
        "write an HTML page to PATH: each test with its failure and its timeline",
    ),
    "--chat-fake-coverage": (
        "",
        "after the run, list which statuses, faults and errors of the service no test tried",
    ),
    "--chat-fake-coverage-fail-under": (
        "N",
        "like --chat-fake-coverage, and fail the run if its tests tried less than N percent",
    ),
    "--chat-fake-data": (
        "FILE",
        (
            "write the run's page, coverage and mutants as data to FILE, for python -m "
            "pytest_chatfake merge"
        ),
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    declare(parser, {}, _FLAGS)


@pytest.hookimpl(tryfirst=True)  # so that others judge the run before this one shows it
def pytest_configure(config: pytest.Config) -> None:
    """Register the parts that the options ask for; an xdist worker only collects."""
    if not any_given(config, _FLAGS):
        return
    from .collector import Collector
    from .failures import Failures
    from .run import Run

    shows_tests = any_given(config, ("--chat-fake-report", "--chat-fake-data"))
    collector = Collector(timelines=shows_tests)
    config.pluginmanager.register(collector, "chatfake-collector")
    if shows_tests:
        config.pluginmanager.register(Failures(), "chatfake-failures")
    if not hasattr(config, "workerinput"):
        try:
            config.pluginmanager.register(Run(config, collector, _FLAGS), "chatfake-run")
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(optionalhook=True)  # the fake's plugin may be disabled
def pytest_chatfake_section(item: pytest.Item, report: pytest.TestReport, section: Section) -> None:
    """Draw a failure for pytest-html.

    Not as one of pytest-html's "extras", which are shown in all rows of a test, even for a rerun
    that passed.
    """
    if item.config.getoption("htmlpath", None):
        from ..suite.reports import log_errors, record_of

        with log_errors("the picture of a timeline"):
            picture = section.picture(styled=True)
            record_of(report).setdefault("pictures", []).append(picture)


@pytest.hookimpl(optionalhook=True)
def pytest_html_results_table_html(report: pytest.TestReport, data: list[str]) -> None:
    """Add the pictures below a failure's text."""
    data.extend(getattr(report, "chat_fake", {}).get("pictures", ()))
