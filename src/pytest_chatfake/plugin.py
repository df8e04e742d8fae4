"""The pytest plugin: fixtures, the marker, and hooks. Nothing else imports it.

Every pytest run loads it, so heavy modules are imported inside functions.
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
from .base.preloading import needs, preload

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from time_machine import TimeMachineFixture

    from .fake.clock import Clock
    from .fake.config import ChatFakeConfig
    from .fake.fake import ChatFake
    from .fake.receiver import Receiver

_fake_key = pytest.StashKey["ChatFake"]()

#: The process in which `chat_fake_url` is an address.
_url_key = pytest.StashKey[int]()

#: The fixtures of which a test has at least one if it uses a fake, ours or an extra's.
_FIXTURES = frozenset({"chat_fake", "chat_fake_config", "chat_fake_url"})

#: What a test may ask for while it runs.
_NAMES = _FIXTURES | {"chat_clock", "chat_receiver", "ChatFake("}

needs(_NAMES, "time_machine", f"{__package__}.suite.configuring", f"{__package__}.suite.reports")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hooks

    pluginmanager.add_hookspecs(hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[options.seed_key] = options.chosen_seed(config)
    options.check(config)
    start = config.getini("chat_clock_start")
    if start != options.START:
        from .domain.instants import aware

        try:
            aware(start, "the ini option chat_clock_start")
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    config.addinivalue_line(
        "markers",
        "chat_fake(**fields): ChatFakeConfig fields for the chat_fake of a test, a class or a "
        'module, as in @pytest.mark.chat_fake(price="0.10")',
    )
    shares = config.getini("chat_fake_loop_scope") == "session"
    is_nested = f"{__package__}.base.session_scope" in sys.modules  # a run inside another one
    if shares or is_nested:
        from .base import session_scope

        config.add_cleanup(session_scope.begin(shares=shares))
    with suppress(OSError):  # because there may be no standard error
        config.stash[options.stderr_key] = os.dup(2)  # before capturing starts


def pytest_unconfigure(config: pytest.Config) -> None:
    descriptor = config.stash.get(options.stderr_key, None)
    if descriptor is not None:
        del config.stash[options.stderr_key]
        _speak(config)
        os.close(descriptor)


def _speak(config: pytest.Config) -> None:
    # Some lines can't wait for a report, so they bypass the capture.
    if _is_loaded():
        from .base.terminal import speak_through

        speak_through(config.stash.get(options.stderr_key, None))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Its owner, such as pytest-run-parallel, would run one test in several threads, with one fake.
    if any(line.startswith("thread_unsafe") for line in config.getini("markers")):
        for item in items:
            if not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.thread_unsafe(reason="the fake belongs to one thread"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Import the rest before a test can mock what it imports."""
    preload(session)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["chat_fake_seed"] = node.config.stash[options.seed_key]


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.stash[options.seed_key]
    ids = [f"chat_fake: ids from --chat-fake-seed={seed}"] * (seed != "fixed")
    return options.exposure(config) + ids


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    # `-q` leaves out the header, so its lines come here; the seed only after failures.
    failed = terminalreporter.stats.keys() & {"failed", "error"}
    if terminalreporter.verbosity < 0:
        for line in pytest_report_header(config) if failed else options.exposure(config):
            terminalreporter.write_line(line)


@pytest.fixture
def chat_fake(
    request: pytest.FixtureRequest,
    chat_fake_config: ChatFakeConfig,
    chat_fake_mode: Literal["sync", "async"],
) -> Iterator[ChatFake]:
    """A fake messaging service, new for each test.

    It sends messages, plays the people who receive them, posts webhooks to the app that you pass to
    ``chat_fake.webhooks.connect()``, and serves the HTTP API at ``chat_fake.base_url``::

        def test_spending(chat_fake):
            app = create_app()
            chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
            chat_fake.send_text("Sale ends today").deliver().read()
            assert app.spent == Decimal("0.05")

    When the test function ends, the test fails if it overlooked something, such as a webhook that
    the app refused.
    """
    from .domain.instants import aware
    from .engine.process_time import Travel, freeze
    from .fake.fake import ChatFake
    from .suite.configuring import configured

    config = configured(request, chat_fake_config, chat_fake_mode)
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
    """The test's clock, frozen: ``advance(days=30)`` runs everything that becomes due."""
    time = chat_fake._engine.time
    if not time.is_frozen:
        time.freeze(_time_machine(request))
    return chat_fake.clock


def _time_machine(request: pytest.FixtureRequest) -> TimeMachineFixture | None:
    from time_machine import TimeMachineFixture

    fixture = None
    if "time_machine" in request.fixturenames:
        with suppress(pytest.FixtureLookupError):  # another plugin's fixture that needs the fake
            fixture = request.getfixturevalue("time_machine")
    return fixture if isinstance(fixture, TimeMachineFixture) else None


@pytest.fixture
def chat_receiver(chat_fake: ChatFake) -> Receiver:
    """An endpoint that records webhooks, already connected, for tests without an app."""
    return chat_fake.webhooks.receiver()


@pytest.fixture(scope="session")
def chat_fake_config() -> ChatFakeConfig:
    """The configuration of every ``chat_fake``; override it to return your own ``ChatFakeConfig``.

    An override in a ``conftest.py`` applies to the suite; one in a module applies to that module's
    tests.
    """
    from .fake.config import ChatFakeConfig

    return ChatFakeConfig()


@pytest.fixture
def chat_fake_mode(request: pytest.FixtureRequest) -> Literal["sync", "async"]:
    """The fake's mode: ``"async"`` in async tests, where verbs are awaited, else ``"sync"``."""
    function = getattr(request, "function", None)
    # Hypothesis wraps the test in a plain function, and keeps the test as an attribute.
    hypothesis = getattr(function, "hypothesis", None)
    function = getattr(hypothesis, "inner_test", function)
    # After the first run, anyio has replaced it with a plain function. But only coroutine functions
    # get anyio's fixture.
    if hypothesis is not None and "anyio_backend" in request.fixturenames:
        return "async"
    return "async" if inspect.iscoroutinefunction(function) else "sync"


@pytest.fixture(scope="session")
def chat_fake_url(pytestconfig: pytest.Config) -> str:
    """The base URL of the fake's HTTP API, for an app that is created once per session."""
    from .fake.fake import service
    from .suite.configuring import keep_listening

    keep_listening(pytestconfig)
    pytestconfig.stash[_url_key] = os.getpid()
    is_secured = pytestconfig.getini("chat_fake_tls")
    return service.secured(service.url) if is_secured else service.url


@pytest.fixture(scope="session")
def chat_fake_ca(pytestconfig: pytest.Config) -> str:
    """The path of the certificate that clients over https have to trust, in PEM."""
    from .fake.fake import service
    from .suite.configuring import keep_listening

    keep_listening(pytestconfig)
    return service.authority.path


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    # Last of all, because the session's fixtures end here after an interrupt.
    try:
        return (yield)
    finally:
        if options.listens_key in session.config.stash:
            from .fake.fake import service

            service.release()


def _is_loaded() -> bool:
    # Only a run that has made a fake needs the rest, which is then cheap to import.
    return f"{__package__}.fake.fake" in sys.modules


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    with ExitStack() as stack:
        if call.excinfo is not None and _is_loaded():
            from .base.tracebacks import frames_hidden
            from .suite.reports import add_hint

            add_hint(call.excinfo.value)
            option = item.config.getoption  # pytest's terminal plugin may be off
            if not (option("fulltrace", False) or option("tbstyle", "auto") == "native"):
                stack.enter_context(frames_hidden(call.excinfo.value))
        report = yield
    if _is_loaded():
        from .suite.reports import add_timeline, shorten_summary

        error = None if call.excinfo is None else call.excinfo.value
        add_timeline(item, report, error)
        if error is not None:
            shorten_summary(report, error)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _speak(item.config)  # a run inside this one may have redirected it
    with running(item):
        if _is_loaded():
            from .fake.fake import share_open_fakes

            share_open_fakes()
        try:
            return (yield)
        except (KeyboardInterrupt, pytest.exit.Exception):  # such a test gets no report
            if _is_loaded():
                from .suite.reports import interrupt

                interrupt(item.config)
            raise


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # In a forked child, the server and its address are the parent's, but the test is ours.
    process = os.getpid()
    is_foreign = item.config.stash.get(_url_key, process) != process
    if is_foreign and "chat_fake_url" in getattr(item, "fixturenames", ()):
        pytest.fail(
            "chat_fake_url is the address of the process that forked this test, and its server "
            "does not know this test's fake: use chat_fake.base_url, or fork every test "
            "(pytest --forked)",
            pytrace=False,
        )
    if _is_loaded():
        from .fake.fake import service

        service.take_over()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    # The check is part of the call phase, so it fails the test, xfail works, output is captured,
    # time is still frozen, and the user's servers still run.
    test = current()
    test.call()
    yield
    fake = item.stash.get(_fake_key, None)
    if fake is not None and not test.is_lost:
        from .fake.fake import service

        fake._checks.run()
        service.check()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    # Some servers only shut down once our connections are closed. If a call doesn't return, the
    # user's fixtures are torn down all the same.
    fake = item.stash.get(_fake_key, None)
    try:
        if fake is not None:
            from .fake.fake import service

            del item.stash[_fake_key]
            service.clear()
            fake._engine.outbox.endpoints.close()
    finally:
        yield


def pytest_enter_pdb() -> None:
    # Time in the debugger doesn't count towards a webhook's timeout.
    from .base.debugging import note_pdb

    note_pdb(is_active=True)


def pytest_leave_pdb() -> None:
    from .base.debugging import note_pdb

    note_pdb(is_active=False)
