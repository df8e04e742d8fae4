"""Tests in a row, each in a loop of its own: no task, thread, socket or loop outlives its test."""

from ..forked_pytest import run_pytest
from ..inner import module_text

CONFTEST = module_text("leftovers_conftest")

TESTS = module_text("leftovers")


def test_tests_in_a_row_leave_nothing(pytester):
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
        "pythonpath = ."
    )
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = run_pytest(pytester.path, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=13)
    assert result.ret == 0
