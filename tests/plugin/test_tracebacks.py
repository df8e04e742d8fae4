"""A failed test shows the test's line and its app's, and ours only where the fault is ours."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

SUITE = module_text("failing_suite")

#: What a debugger gets: every frame.
INTERACT = """
    import traceback

    def pytest_exception_interact(call):
        frames = traceback.walk_tb(call.excinfo.value.__traceback__)
        print("frames:", *{frame.f_globals["__name__"] for frame, _ in frames})
"""


OPTIONS = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracebacks")
    (folder / "test_it.py").write_text(dedent(SUITE))
    (folder / "conftest.py").write_text(dedent(INTERACT))
    result = run_pytest(folder, *OPTIONS, "--tb=long", "-s")
    result.assert_outcomes(failed=10)
    return result.stdout.str()


@pytest.mark.parametrize(
    ("test", "line", "error"),
    [
        (
            "a_refusal",
            "chat_fake.send_text().fail().read()",
            "IllegalTransition: can't read message",
        ),
        (
            "an_expected_charge",
            'with chat_fake.expect_charge("0.05"):',
            "charged in the block: expected 0.05 USD",
        ),
        ("a_bad_argument", "chat_fake.send_text(price=0.05)", "TypeError: price must be exact"),
        (
            "an_awaited_refusal",
            "await chat_fake.send_text().fail().read()",
            "can't read message",
        ),
        ("a_blocked_import", "chat_fake.send_text().fail().read()", "IllegalTransition: can't"),
        ("an_app", "chat_fake.send_text()", "KeyError: 'campaign'"),
        (
            "a_misspelt_argument_of_connect",
            'chat_fake.webhooks.connect(handler=print, event="*")',
            "an unexpected argument 'event'. It takes wsgi, asgi,",
        ),
    ],
)
def test_what_is_no_fault_of_ours_shows_no_line_of_ours(report, test, line, error):
    shown = report.partition(f"_ test_{test} _")[2].partition("\n____")[0]

    assert f">       {line}" in shown
    assert error in shown
    assert "pytest_chatfake/" not in shown
    assert "contextlib" not in shown


def test_the_members_of_a_group_show_no_line_of_ours_either(report):
    shown = report.partition("_ test_members _")[2].partition("short test summary")[0]

    assert "chat_fake.send_text().fail().read()" in shown
    assert "pytest_chatfake/" not in shown


def test_whoever_looks_after_the_report_finds_every_frame(report):
    (first, *_) = re.findall(r"frames: (.*)", report)
    assert {"pytest_chatfake.fake.handles", "test_it"} <= {*first.split()}


def test_an_error_has_the_name_that_users_import(report):
    assert "test_a_refusal - pytest_chatfake.IllegalTransition: can't" in report


def test_a_fault_of_ours_is_shown_as_it_is(report):
    shown = report.partition("_ test_a_bug _")[2]

    assert "AttributeError: 'NoneType' object has no attribute 'add'" in shown
    assert "domain/account.py" in shown.replace("\\", "/")


def test_a_fault_of_ours_that_ends_in_the_standard_library_is_ours(report):
    shown = report.partition("_ test_a_bug_in_the_library_s_arms _")[2].partition("\n____")[0]

    assert "TypeError" in shown
    assert "calling_line.py" in shown


def test_a_full_trace_is_full(pytester):
    pytester.makepyfile(SUITE)
    result = pytester.runpytest(*OPTIONS, "--full-trace", "-k", "a_refusal")

    result.stdout.fnmatch_lines(["*handles.py*"])


APPS = module_text("failing_apps")


@pytest.fixture(scope="module")
def report_of_apps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("apps")
    (folder / "test_it.py").write_text(dedent(APPS))
    result = run_pytest(folder, *OPTIONS, "--tb=short")
    result.assert_outcomes(failed=6, passed=1)
    return result.stdout.str()


def files_of(report, test):
    """The files of the frames that a report shows of the last error of a chain, in order."""
    part = report.partition(f"_ {test} _")[2].partition("\n____")[0].partition("---- chat_fake")[0]
    last = part.rpartition("The above exception was")[2]
    return [Path(file).name for file in re.findall(r"^(\S+\.py):\d+: in ", last, re.MULTILINE)]


@pytest.mark.parametrize("app", ["a_fastapi_app", "a_flask_app"])
@pytest.mark.parametrize("wrong", ["mistake", "in_sqlalchemy"])
def test_of_an_app_that_raises_the_frames_of_its_framework_are_folded(report_of_apps, wrong, app):
    shown = files_of(report_of_apps, f"test_it[{wrong}-{app}]")

    assert shown[0] == "test_it.py"
    assert {"test_it.py"} == {*shown}
    assert 3 <= len(shown) <= 5


def test_an_error_of_the_framework_itself_keeps_its_frames(report_of_apps):
    assert "routing.py" in files_of(report_of_apps, "test_the_framework_s_own")


def test_frames_of_a_client_of_the_test_s_own_are_kept(report_of_apps):
    assert "app.py" in files_of(report_of_apps, "test_without_a_fake")


def test_nothing_is_written_into_the_modules_of_others(report_of_apps):
    assert "test_last" not in report_of_apps
