"""One suite of tests in many shapes, under every plugin that runs coroutines."""

from ..forked_pytest import run_pytest
from ..inner import module_text

CONFTEST = module_text("async_plugins_conftest")

TESTS = module_text("async_plugins")

# How many tests these are, and how many of them are plain functions.
SHAPES, PLAIN = 15, 3


def run(pytester, ini="", **marks):
    """Run the tests, warnings being errors, in a file for each mark on coroutine functions."""
    pytester.makeini(
        f"[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n{ini}"
    )
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        **{name: TESTS.replace("pytest.mark.anyio", mark) for name, mark in marks.items()}
    )
    return run_pytest(pytester.path, "-p", "no:cacheprovider")


def test_pytest_asyncio_in_auto_mode(pytester):
    result = run(pytester, "asyncio_mode = auto", test_auto="lambda test: test")
    result.assert_outcomes(passed=SHAPES)


def test_pytest_asyncio_in_strict_mode_with_any_scope_of_the_loop(pytester):
    scopes = ["function", "class", "module", "package", "session"]
    result = run(
        pytester,
        **{f"test_{scope}": f"pytest.mark.asyncio(loop_scope={scope!r})" for scope in scopes},
    )
    result.assert_outcomes(passed=len(scopes) * SHAPES)


def test_anyio_on_asyncio_and_on_trio(pytester):
    result = run(pytester, test_anyio="pytest.mark.anyio")
    result.assert_outcomes(passed=2 * (SHAPES - PLAIN) + PLAIN)
