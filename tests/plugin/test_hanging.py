"""A test that hangs says for what it waits, past pytest's capture."""

import os
import sys

import pytest

from pytest_chatfake import options, plugin
from pytest_chatfake.base import terminal

from ..forked_pytest import run_pytest
from ..inner import module_text

TESTS = module_text("hanging_apps")

STILL = "chat_fake: webhook handler still running after 0.01 s"
LINES = [
    f"{STILL}: slow_app /hooks/chat, sent m1 (message *) (from test_it.py:29)",
    f"{STILL}: <lambda>(), sent m1 (message *) (from test_it.py:36)",
]


@pytest.mark.parametrize("options", [["-p", "no:xdist"], ["-s"]])
def test_a_line_gets_past_the_capture(pytester, options):
    pytester.makepyfile(test_it=TESTS)
    result = run_pytest(pytester.path, *options)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(LINES)


def test_a_test_that_did_not_use_the_fixture_is_the_first_to_hang(pytester):
    pytester.makepyfile(test_it=TESTS)
    result = run_pytest(pytester.path, "-k", "own_fake")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(LINES[1:])


def test_the_duplicate_of_the_standard_error_is_closed_at_the_end(pytester):
    config = pytester.parseconfigure()
    descriptor = config.stash[options.stderr_key]
    assert os.fstat(descriptor)
    plugin._speak(config)
    assert descriptor == terminal._descriptor

    config._ensure_unconfigure()

    with pytest.raises(OSError):
        os.fstat(descriptor)
    assert terminal._descriptor == 2


def test_without_a_terminal_nothing_is_said_and_nothing_is_raised(monkeypatch):
    monkeypatch.setattr(terminal, "_descriptor", 10_000)
    terminal.say("to nobody")


def test_a_target_that_can_t_be_closed_keeps_no_fixture_from_its_end(pytester):
    pytester.makepyfile(
        """
        from unittest.mock import Mock
        import pytest

        ended = []

        @pytest.fixture
        def database():
            yield
            ended.append("database")

        def test_a(database, chat_receiver):
            chat_receiver.endpoint._target.close = Mock(side_effect=RuntimeError("it hangs"))

        def test_b():
            assert ended == ["database"]
        """
    )
    pytester.runpytest().assert_outcomes(passed=2, errors=1)


def test_nothing_is_late_while_pytest_s_debugger_waits_for_a_person(pytester):
    pytester.makepyfile(
        """
        from concurrent.futures import ThreadPoolExecutor

        from pytest_chatfake.base.debugging import is_debugging

        def test_a():
            with ThreadPoolExecutor() as watch:  # a thread that is not traced
                found = [watch.submit(is_debugging).result()]
                breakpoint()
                found.append(watch.submit(is_debugging).result())
            assert found == [False, True, False]
        """
    )
    typed = b"found.append(watch.submit(is_debugging).result())\ncontinue\n"

    result = pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", stdin=typed)

    result.assert_outcomes(passed=1)
