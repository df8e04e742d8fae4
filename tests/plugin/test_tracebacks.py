"""A failed test shows the test's line, and ours only where the fault is ours."""

from __future__ import annotations

from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest

SUITE = """
    import sys

    import pytest

    from pytest_chatfake.base.calling_line import Line

    def test_a_refusal(chat_fake):
        chat_fake.send_text().fail().read()

    def test_an_expected_charge(chat_fake):
        with chat_fake.expect_charge("0.05"):
            chat_fake.send_text()

    def test_a_bad_argument(chat_fake):
        chat_fake.send_text(price=0.05)

    @pytest.mark.asyncio
    async def test_an_awaited_refusal(chat_fake):
        await chat_fake.send_text().fail().read()

    def test_an_app(chat_fake):
        def app(environ, start_response):
            return {}["campaign"]

        chat_fake.webhooks.connect(wsgi=app)
        chat_fake.send_text()

    def test_a_blocked_import(chat_fake, monkeypatch):
        monkeypatch.setitem(sys.modules, "pytest_chatfake.wire.models", None)
        chat_fake.send_text().fail().read()

    def test_a_bug_in_the_library_s_arms(chat_fake):
        str(Line(None, 3))

    def test_a_bug(chat_fake):
        chat_fake._engine.account._schedule = None
        chat_fake.send_text()
"""


OPTIONS = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tracebacks")
    (folder / "test_it.py").write_text(dedent(SUITE))
    result = run_pytest(folder, *OPTIONS, "--tb=long")
    result.assert_outcomes(failed=8)
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
    ],
)
def test_what_is_no_fault_of_ours_shows_no_line_of_ours(
    report: str, test: str, line: str, error: str
) -> None:
    shown = report.partition(f"_ test_{test} _")[2].partition("\n____")[0]

    assert f">       {line}" in shown
    assert error in shown
    assert "pytest_chatfake/" not in shown
    assert "contextlib" not in shown


def test_an_error_has_the_name_that_users_import(report: str) -> None:
    assert "test_a_refusal - pytest_chatfake.IllegalTransition: can't" in report


def test_a_fault_of_ours_is_shown_as_it_is(report: str) -> None:
    shown = report.partition("_ test_a_bug _")[2]

    assert "AttributeError: 'NoneType' object has no attribute 'add'" in shown
    assert "domain/account.py" in shown.replace("\\", "/")


def test_a_fault_of_ours_that_ends_in_the_standard_library_is_ours(report: str) -> None:
    shown = report.partition("_ test_a_bug_in_the_library_s_arms _")[2].partition("\n____")[0]

    assert "TypeError" in shown
    assert "calling_line.py" in shown


def test_a_full_trace_is_full(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest(*OPTIONS, "--full-trace", "-k", "a_refusal")

    result.stdout.fnmatch_lines(["*messages.py*"])
