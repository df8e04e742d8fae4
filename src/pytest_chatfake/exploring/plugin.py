"""The plugin for explorations: their fixture, their section in reports, and the cards.

Every pytest run loads it, so its parts are imported inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from ..base.current_test import current
from ..base.preloading import needs
from . import hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..fake.config import ChatFakeConfig
    from .explorer import Explorer

#: The module of the fixture ``chat_fake``.
_CORE: Final = f"{__name__.partition('.')[0]}.plugin"

_explorer_key = pytest.StashKey["Explorer"]()

needs({"chat_explore"}, *(f"{__package__}.{name}" for name in ("explorer", "cards")))


@pytest.fixture
def chat_explore(
    request: pytest.FixtureRequest, chat_fake_config: ChatFakeConfig
) -> Generator[Explorer]:
    """Runs one test body in many worlds, with webhooks redelivered, reordered or refused.

    Each *world* is a run with its own fake and clock. If one fails, the test fails and, if
    possible, prints a plain test that you can paste::

        def test_a_sale_is_charged_once(chat_explore):
            @chat_explore
            def world(chat_fake):
                shop = Shop()
                chat_fake.webhooks.connect(wsgi=shop.app, path="/hooks/chat")
                chat_fake.send_text("Sale ends today").deliver(devices=2).read()
                chat_fake.settle()
                assert shop.spent == Decimal("0.05")
    """
    from ..domain.instants import aware
    from ..suite.configuring import configured
    from .explorer import Explorer

    if "chat_clock" in request.fixturenames:
        pytest.fail(
            "chat_clock can't be used with chat_explore, as every world has its own clock: use "
            "chat_fake.clock",
            pytrace=False,
        )
    explorer = Explorer(
        configured(request, chat_fake_config, "sync"),
        start=aware(request.config.getini("chat_clock_start"), "chat_clock_start"),
        progress=_progress(request.config),
    )
    explorer._item = request.node
    is_whole = request.node.ihook.pytest_chatfake_repeat(item=request.node)
    if is_whole is not None and (before := request.node.stash.get(_explorer_key, None)) is not None:
        explorer._first, explorer._is_whole = before._first or before, is_whole
    request.node.stash[_explorer_key] = explorer
    yield explorer
    explorer._end()


def _progress(config: pytest.Config) -> Callable[[str], None]:
    # Shows a line on the terminal; a no-op without one.
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if terminal is None or capture is None or terminal.verbosity < 0:
        return lambda _: None
    # Depending on pytest's version, it is a bool, a callable bool, or a method.
    if not (terminal.isatty() if callable(terminal.isatty) else terminal.isatty):
        return lambda _: None

    def rewrite(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.rewrite(text, erase=True)

    return rewrite


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> None:
    """Refuse ``chat_fake`` in a ready-made test, but not a user's fixture of the same name."""
    is_ours = fixturedef.argname == "chat_fake" and fixturedef.func.__module__ == _CORE
    if is_ours and _is_ready_made(request.node):
        pytest.fail(
            "a fixture uses chat_fake, but each world of this test has its own: set up the fake in "
            "connect(self, chat_fake), and override an autouse fixture in this module",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that passed without exploring anything."""
    yield
    explorer = item.stash.get(_explorer_key, None)
    if explorer is not None and not current().is_lost:
        explorer._check()


# Not trylast, so that it wraps pytest's own wrapper, which notes expected failures.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the section ``chat_explore``, and the line of a card."""
    report = yield
    explorer = item.stash.get(_explorer_key, None)
    if explorer is not None and explorer.explorations and report.when == "call":
        text = "\n".join(map(str, explorer.explorations))
        report.sections.append(("chat_explore", text))
    if _is_ready_made(item):
        from ..suite.reports import record_of
        from .cards import locate_skip, row_of
        from .first_tests import note_result

        note_result(item, call, report)
        locate_skip(item, report)
        if row := row_of(item, call, report):
            record_of(report)["row"] = list(row)
    return report


def _is_ready_made(item: pytest.Item) -> bool:
    module = getattr(getattr(item, "function", None), "__module__", "")
    return module in {f"{__package__}.{name}_tests" for name in ("webhook", "send")}


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the cards of ready-made tests."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    rows = [kept["row"] for r in reports if "row" in (kept := getattr(r, "chat_fake", {}))]
    if rows:
        from .cards import show

        show(terminalreporter, rows)
