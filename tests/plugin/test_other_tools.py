"""Tools that stand beside the fake in a suite: what works, and what a failure says."""

import sqlite3
import sys
from textwrap import dedent

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base.current_test import running
from pytest_chatfake.suite.reports import add_hint

from ..forked_pytest import run_pytest
from ..inner import module_text

OPTIONS = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")

SOCKETS = module_text("guarded_sockets")


@pytest.fixture
def sockets(tmp_path):
    (tmp_path / "test_it.py").write_text(dedent(SOCKETS))
    return tmp_path


def test_where_sockets_are_disabled_what_stays_in_process_works(sockets):
    result = run_pytest(sockets, *OPTIONS, "--disable-socket", "--allow-unix-socket")

    result.assert_outcomes(passed=4, failed=1, warnings=1)
    result.stdout.fnmatch_lines(["E *SocketBlockedError: A test tried to use socket.*"])


def test_where_the_local_host_is_allowed_the_listener_works_too(sockets):
    result = run_pytest(
        sockets, *OPTIONS, "--disable-socket", "--allow-unix-socket", "--allow-hosts=127.0.0.1"
    )

    result.assert_outcomes(passed=5)


WRAPPED = module_text("wrapped_tests")


def test_a_wrapper_around_an_async_test_needs_the_marker_or_the_fixture(tmp_path):
    (tmp_path / "test_it.py").write_text(dedent(WRAPPED))

    result = run_pytest(tmp_path, *OPTIONS)

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E *there is nothing to await:*chat_fake_mode*mark.chat_fake*"])


TEST_CLIENT = module_text("starlette_client")


def test_an_app_that_belongs_to_the_thread_of_a_test_client_is_told_so(tmp_path):
    (tmp_path / "test_it.py").write_text(dedent(TEST_CLIENT))

    result = run_pytest(tmp_path, *OPTIONS)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *ProgrammingError: SQLite objects created in a thread can only be used in that*",
            "E *TestClient runs the app in its own thread and event loop*httpx.ASGITransport(app).",
        ]
    )


FOREIGN = "SQLite objects created in a thread can only be used in that same thread."


@pytest.fixture
def _with_a_test_client():
    pytest.importorskip("starlette.testclient")


@pytest.mark.usefixtures("_with_a_test_client")
def test_the_cause_of_an_error_is_looked_at_too():
    with ChatFake():
        error = ValueError("no response")
        error.__cause__ = sqlite3.ProgrammingError(FOREIGN)
        add_hint(error)
        assert len(error.__notes__) == 1


@pytest.mark.usefixtures("_with_a_test_client")
def test_a_circle_of_causes_comes_to_an_end():
    with ChatFake():
        error, other = ValueError("one"), ValueError("other")
        error.__context__, other.__context__ = other, error
        add_hint(error)
        assert not hasattr(error, "__notes__")


@pytest.mark.usefixtures("_with_a_test_client")
def test_a_test_without_a_fake_is_told_nothing():
    error = sqlite3.ProgrammingError(FOREIGN)
    with running(None):
        add_hint(error)
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (sqlite3.ProgrammingError(FOREIGN), None),
        (RuntimeError("Task got Future attached to a different loop"), "from an earlier test's"),
        (RuntimeError("Event loop is closed"), "from an earlier test's"),
    ],
)
def test_without_a_test_client_the_error_s_own_text_says_what_is_known(monkeypatch, error, hint):
    monkeypatch.delitem(sys.modules, "starlette.testclient", raising=False)
    with ChatFake():
        add_hint(error)
    assert (hint is None) is not any(str(hint) in note for note in getattr(error, "__notes__", ()))


#: Registers the marker of pytest-run-parallel, and says which tests have it when it looks.
PARALLEL = """
    import pytest

    def pytest_configure(config):
        config.addinivalue_line("markers", "thread_unsafe: run it in a single thread")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(session):
        for item in session.items:
            marker = item.get_closest_marker("thread_unsafe")
            print("\\nMARK", item.name, marker and marker.kwargs["reason"])
"""

PARALLEL_TESTS = """
    import pytest

    @pytest.fixture
    def shop(chat_fake):
        pass

    def test_fake(chat_fake): pass
    def test_clock(chat_clock): pass
    def test_indirect(shop): pass
    def test_explored(chat_explore): pass
    def test_url(chat_fake_url): pass
    def test_other(tmp_path): pass
"""


def test_tests_with_a_fake_are_marked_as_unsafe_in_several_threads(tmp_path):
    (tmp_path / "conftest.py").write_text(dedent(PARALLEL))
    (tmp_path / "test_it.py").write_text(dedent(PARALLEL_TESTS))

    result = run_pytest(tmp_path, *OPTIONS, "--strict-markers", "--collect-only", "-s")

    marks = dict(line.split(" ", 2)[1:] for line in result.outlines if line.startswith("MARK "))
    why = "the fake belongs to one thread"
    assert marks == {
        "test_fake": why,
        "test_clock": why,
        "test_indirect": why,
        "test_explored": why,
        "test_url": why,
        "test_other": "None",
    }
