"""The pytest plugin: fixtures, the marker, options, and hooks of reports. Nothing else imports it.

It is loaded in every run of pytest, so heavy modules are imported inside the fixtures.
"""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Literal

import pytest

from . import options
from .base.current_test import current, running

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from time_machine import TimeMachineFixture

    from .exploring.explorer import Explorer
    from .fake.clock import Clock
    from .fake.config import ChatFakeConfig
    from .fake.fake import ChatFake
    from .fake.receiver import Receiver

_stderr_key = pytest.StashKey[int]()
_fake_key = pytest.StashKey["ChatFake"]()
_explorer_key = pytest.StashKey["Explorer"]()
_listens_key = pytest.StashKey[bool]()


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that other plugins may implement."""
    from . import hooks

    pluginmanager.add_hookspecs(hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.declare(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse invalid options."""
    config.stash[options.seed_key] = options.chosen_seed(config)
    options.check(config)
    try:
        _prepare(config)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    config.addinivalue_line(
        "markers",
        "chat_fake(**fields): fields of ChatFakeConfig for the chat_fake of a test, a class or a "
        'module, as in @pytest.mark.chat_fake(price="0.10")',
    )
    shares = config.getini("chat_fake_loop_scope") == "session"
    if (
        shares or f"{__package__}.base.session_scope" in sys.modules
    ):  # the latter: inside another run
        from .base import session_scope

        config.add_cleanup(session_scope.begin(shares=shares))
    with suppress(OSError):  # there may be none
        config.stash[_stderr_key] = os.dup(2)  # before tests are captured


def _prepare(config: pytest.Config) -> None:
    """Do what options ask for; a ValueError if the value of one can't be used."""
    start = config.getini("chat_clock_start")
    if start != options.START:
        from .domain.instants import aware

        aware(start, "the ini option chat_clock_start")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the duplicate of the standard error."""
    descriptor = config.stash.get(_stderr_key, None)
    if descriptor is not None:
        del config.stash[_stderr_key]
        _speak(config)
        os.close(descriptor)


def _speak(config: pytest.Config) -> None:
    """Print lines that can't wait for a report on the terminal, past the capture."""
    if _is_loaded():
        from .base.terminal import speak_through

        speak_through(config.stash.get(_stderr_key, None))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the seed to a worker of pytest-xdist."""
    node.workerinput["chat_fake_seed"] = node.config.stash[options.seed_key]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Warn if the API can be reached from outside; show the seed, unless it is the fixed one."""
    seed = config.stash[options.seed_key]
    ids = [f"chat fake: ids by --chat-fake-seed={seed}"] * (seed != "fixed")
    return options.exposure(config) + ids


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show what the header does where ``-q`` has left it out; the seed after failures only."""
    failed = terminalreporter.stats.keys() & {"failed", "error"}
    if terminalreporter.verbosity < 0:
        for line in pytest_report_header(config) if failed else options.exposure(config):
            terminalreporter.write_line(line)
    reports = (report for group in terminalreporter.stats.values() for report in group)
    rows = [record["row"] for r in reports if "row" in (record := getattr(r, "chat_fake", {}))]
    if rows:
        from .suite.cards import show

        show(terminalreporter, rows)


@pytest.fixture
def chat_fake(
    request: pytest.FixtureRequest,
    chat_fake_config: ChatFakeConfig,
    chat_fake_mode: Literal["sync", "async"],
) -> Iterator[ChatFake]:
    """A fake of a messaging service, new for each test, with money of its own.

    It sends messages, says what phones do, posts the webhooks to the app that
    ``chat_fake.webhooks.connect()`` names, and serves the API at ``chat_fake.base_url``. At its
    end the test fails for what it overlooked, such as a webhook that the app refused.
    """
    from .domain.instants import aware
    from .engine.process_time import Travel, freeze
    from .fake.fake import ChatFake

    if _is_ready_made(request.node):
        pytest.fail(
            "a fixture uses chat_fake, and each world of this test has a fake of its own: set up "
            "in connect(self, chat_fake) what belongs to the fake, and override a fixture with "
            "autouse=True in this module",
            pytrace=False,
        )
    _keep_listening(request.config)
    config = _configured(request, chat_fake_config, chat_fake_mode)
    is_frozen, travel = "chat_clock" in request.fixturenames, Travel()
    try:
        if is_frozen:  # before anything is recorded
            start = aware(request.config.getini("chat_clock_start"), "chat_clock_start")
            freeze(travel, _time_machine(request), start)
        fake = ChatFake(config)
    except BaseException:
        travel.end()
        raise
    if is_frozen:
        fake._engine.time.take_over(travel)
    request.node.stash[_fake_key] = fake
    yield fake
    fake._shut()


@pytest.fixture
def chat_clock(request: pytest.FixtureRequest, chat_fake: ChatFake) -> Clock:
    """The test's time, frozen: advance(days=30) moves it, and what is due happens."""
    from .engine.process_time import Travel, freeze

    time = chat_fake._engine.time
    if not time.is_frozen:
        travel = Travel()
        time.take_over(travel)
        freeze(travel, _time_machine(request), None)
    return chat_fake.clock


def _time_machine(request: pytest.FixtureRequest) -> TimeMachineFixture | None:
    """Return time-machine's fixture; None if nobody asks for it, or it is another's."""
    from time_machine import TimeMachineFixture

    fixture = None
    if "time_machine" in request.fixturenames:
        with suppress(pytest.FixtureLookupError):  # it is another's, and waits for the fake
            fixture = request.getfixturevalue("time_machine")
    return fixture if isinstance(fixture, TimeMachineFixture) else None


@pytest.fixture
def chat_receiver(chat_fake: ChatFake) -> Receiver:
    """A connected endpoint that keeps what it gets, for tests without an app."""
    return chat_fake.webhooks.receiver()


@pytest.fixture
def chat_explore(
    request: pytest.FixtureRequest, chat_fake_config: ChatFakeConfig
) -> Generator[Explorer]:
    """Run one test body with its webhooks in order, twice, reordered, refused.

    Each way is a *world*, with a fake and a clock of its own. The first world that fails is printed
    as a test to paste.
    """
    from .domain.instants import aware
    from .exploring.explorer import Explorer
    from .suite.reports import progress

    if "chat_clock" in request.fixturenames:
        pytest.fail(
            "chat_clock can't be used with chat_explore: every world has a clock of its own. "
            "Use the clock of the world's fake, chat_fake.clock.",
            pytrace=False,
        )
    _keep_listening(request.config)
    explorer = Explorer(
        _configured(request, chat_fake_config, "sync"),
        start=aware(request.config.getini("chat_clock_start"), "chat_clock_start"),
        progress=progress(request.config),
    )
    explorer._item = request.node
    if current().again and (before := request.node.stash.get(_explorer_key, None)) is not None:
        explorer._first = before._first or before
    request.node.stash[_explorer_key] = explorer
    yield explorer
    explorer._end()


@pytest.fixture(scope="session")
def chat_fake_config() -> ChatFakeConfig:
    """The configuration of each chat_fake: override it, and return your own.

    A ``ChatFakeConfig``. In a ``conftest.py`` the override is for a suite, in a module for that.
    """
    from .fake.config import ChatFakeConfig

    return ChatFakeConfig()


@pytest.fixture
def chat_fake_mode(request: pytest.FixtureRequest) -> Literal["sync", "async"]:
    """How chat_fake is called: "async" (with await) in async tests, else "sync"."""
    function = getattr(request, "function", None)
    # Hypothesis wraps the test in a plain function, and keeps what it wraps.
    hypothesis = getattr(function, "hypothesis", None)
    function = getattr(hypothesis, "inner_test", function)
    # anyio puts a plain function in that place, once the test has run for the first time; but it
    # gives this fixture to coroutine functions only.
    if hypothesis is not None and "anyio_backend" in request.fixturenames:
        return "async"
    return "async" if inspect.iscoroutinefunction(function) else "sync"


@pytest.fixture(scope="session")
def chat_fake_url(pytestconfig: pytest.Config) -> str:
    """The base URL of the fake's HTTP API, for an app that lives for a session."""
    from .fake.fake import service

    _keep_listening(pytestconfig)
    return service.url


def _keep_listening(config: pytest.Config) -> None:
    """Keep one listener for the rest of the session, whatever fakes come and go."""
    if _listens_key in config.stash:
        return
    from .fake.fake import service

    config.stash[_listens_key] = True
    _speak(config)
    service.host = config.getini("chat_fake_host")
    service.hold()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Stop the listener after the session's fixtures: an interrupt ends these here."""
    try:
        return (yield)
    finally:
        if _listens_key in session.config.stash:
            from .fake.fake import service

            service.release()


def _is_loaded() -> bool:
    """Return whether this run has made a fake: what tells of it is cheap to import then."""
    return f"{__package__}.fake.fake" in sys.modules


def _configured(
    request: pytest.FixtureRequest, config: ChatFakeConfig, mode: Literal["sync", "async"]
) -> ChatFakeConfig:
    """Put together the configuration of one test: the fixture's, then its markers'."""
    fields: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("chat_fake"))):
        if marker.args:
            pytest.fail(
                f"@pytest.mark.chat_fake: expected fields by name, as in price='0.10', "
                f"got {marker.args!r}",
                pytrace=False,
            )
        fields.update(marker.kwargs)
    if not hasattr(config, "replace"):
        pytest.fail(
            f"the fixture chat_fake_config: expected a ChatFakeConfig(...), got {config!r}",
            pytrace=False,
        )
    seed = f"{request.node.nodeid}{current().again}"
    if request.config.stash[options.seed_key] != "fixed":
        seed = f"{request.config.stash[options.seed_key]} {seed}"
    strict = request.config.getini("chat_fake_strict")
    try:
        request.node.ihook.pytest_chatfake_fields(item=request.node, fields=fields)
        for name, default in (("seed", seed), ("mode", mode), ("strict", strict)):
            if fields.get(name, getattr(config, name)) is None:
                fields[name] = default
        return config.replace(**fields)
    except (TypeError, ValueError) as error:
        problem = str(error)
    pytest.fail(f"@pytest.mark.chat_fake: {problem}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the history of the fake in the report of a failed test, without our frames."""
    with ExitStack() as stack:
        if call.excinfo is not None and _is_loaded():
            from .base.tracebacks import frames_hidden
            from .suite.reports import add_hint

            add_hint(call.excinfo.value)
            if not (item.config.option.fulltrace or item.config.option.tbstyle == "native"):
                stack.enter_context(frames_hidden(call.excinfo.value))
        report = yield
    explorer = item.stash.get(_explorer_key, None)
    if explorer is not None and explorer.explorations and report.when == "call":
        text = "\n".join(map(str, explorer.explorations))
        report.sections.append(("chat_explore", text))
    if _is_loaded():
        from .suite.reports import add_timeline, record_of, shorten_summary

        error = None if call.excinfo is None else call.excinfo.value
        add_timeline(item, report, error)
        if error is not None:
            shorten_summary(report, error)
        if _is_ready_made(item):
            from .exploring.webhook_tests import note_result
            from .suite.cards import locate_skip, row_of

            note_result(item, call, report)
            locate_skip(item, report)
            if row := row_of(item, call, report):
                record_of(report)["row"] = list(row)
    return report


def _is_ready_made(item: pytest.Item) -> bool:
    """Return whether a test is one of ``WebhookTests``."""
    module = getattr(getattr(item, "function", None), "__module__", "")
    return bool(module == f"{__package__}.exploring.webhook_tests")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Attribute what fakes do from here on to this test."""
    _speak(item.config)  # a run inside another one may have taken it
    with running(item):
        if _is_loaded():
            from .fake.fake import share_open_fakes

            share_open_fakes()
        try:
            return (yield)
        except (KeyboardInterrupt, pytest.exit.Exception):  # the test gets no report
            if _is_loaded():
                from .suite.reports import interrupt

                interrupt(item.config)
            raise


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Report verbs at the test's lines, and check the fake if it passed.

    The check is part of the call, so it fails the test, xfail holds, and output is captured. All
    fixtures are there: time is still frozen, and the user's servers still run.
    """
    test = current()
    test.call()
    yield
    if _is_loaded() and not test.is_lost:
        _check(item)


def _check(item: pytest.Item) -> None:
    from .fake.fake import service

    fake, explorer = item.stash.get(_fake_key, None), item.stash.get(_explorer_key, None)
    if fake is not None:
        fake._checks.run()
        service.check()
    if explorer is not None:
        explorer._check()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Close the fake's connections to the user's servers: some wait for that to shut down."""
    fake = item.stash.get(_fake_key, None)
    if fake is not None:
        from .fake.fake import service

        del item.stash[_fake_key]
        service.clear()
        fake._engine.outbox.endpoints.close()
    yield


def pytest_enter_pdb() -> None:
    """Count no time of webhooks that is spent in the debugger."""
    from .base.debugging import note_pdb

    note_pdb(is_active=True)


def pytest_leave_pdb() -> None:
    """Count it again."""
    from .base.debugging import note_pdb

    note_pdb(is_active=False)
