"""The timeline in reports: part of the failure's own text, in the first phase that fails."""

import os
import re
import subprocess
import sys
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest

from pytest_chatfake import ChatFake

from ..forked_pytest import run_pytest
from ..inner import module_text

OPTIONS = ("-p", "no:django", "-p", "no:asyncio", "-p", "no:inline_snapshot")
TITLE = "chat_fake timeline"


def run(folder, body, *options):
    (folder / "test_it.py").write_text(dedent(body), "utf-8")
    return run_pytest(folder, *OPTIONS, "-p", "no:cacheprovider", *options)


# -- what failing tests print ----------------------------------------------------------------------

FAILING = """
    def test_it(chat_fake, chat_clock, chat_receiver):
        chat_fake.webhooks.duplicate(status="delivered")
        chat_fake.send_text().deliver()
        assert 1 == 2
"""

# -- formats and options ---------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--show-capture=no", "--tb=native"])
def test_the_timeline_belongs_to_the_failure_not_to_captured_output(tmp_path, option):
    result = run(tmp_path, FAILING, option, "--junitxml=junit.xml")
    (failure,) = ET.parse(tmp_path / "junit.xml").iter("failure")

    for text in (result.stdout.str(), failure.text or ""):
        assert text.count(f" {TITLE} -") == 1
        assert "#11 (attempt) delivered m1 -> Receiver(): 200 [duplicate: " in text


@pytest.mark.parametrize(("when", "count"), [("always", 2), ("never", 0)])
def test_the_ini_option_says_which_reports_have_it(tmp_path, when, count):
    body = f"{FAILING}\n    def test_passed(chat_fake):\n        chat_fake.send_text()\n"
    result = run(tmp_path, body, "-rA", "-o", f"chat_fake_timeline={when}")

    assert count == result.stdout.str().count(f" {TITLE} -")


def test_another_word_in_the_ini_option_is_refused(tmp_path):
    result = run(tmp_path, FAILING, "-o", "chat_fake_timeline=sometimes")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "chat_fake_timeline: expected failed, always or never, got 'sometimes'"
        in result.stdout.str()
    )


def test_a_run_without_failures_makes_no_text(tmp_path):
    result = run(
        tmp_path,
        """
        from pytest_chatfake.report import trace

        def test_it(chat_fake, chat_receiver, monkeypatch):
            monkeypatch.setattr(trace, "Trace", None)
            chat_fake.send_text().deliver()
        """,
    )
    result.assert_outcomes(passed=1)


def test_of_a_property_only_the_example_that_falsifies_it_is_told_of(tmp_path):
    result = run(
        tmp_path,
        module_text("machine_reports"),
    )

    parts = result.stdout.str().split(f"- {TITLE} -")[1:]
    told = [re.findall(r"to (\+\d+), sent", one.partition("\n=====")[0]) for one in parts]
    assert told[:2] == [["+17"], ["+27"]]
    assert {"+17", "+1901"} == {one for addresses in told[2:4] for one in addresses}
    assert told[4:] == [["+17"]]


# -- interrupts and outside pytest -----------------------------------------------------------------


@pytest.mark.parametrize(
    "end", ["raise KeyboardInterrupt", "__import__('pytest').exit('the database is gone')"]
)
def test_what_ends_the_run_prints_it_on_lines_of_its_own(tmp_path, end):
    result = run(
        tmp_path,
        f"""
        def test_before():
            pass

        def test_it(chat_fake):
            chat_fake.send_text()
            {end}
        """,
        "-q",
    )

    assert result.stdout.str().count(f" {TITLE} ") == 1
    title = f"===*= {TITLE} =*"
    result.stdout.fnmatch_lines([title, "What to look at"], consecutive=True)
    result.stdout.fnmatch_lines([title, "*verb   send_text() m1*"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_during_an_attempt_shows_that_it_has_no_response(tmp_path):
    result = run(
        tmp_path,
        """
        import os
        import signal

        def test_it(chat_fake):
            # What a shell starts in the background may ignore Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)

            def hang(request):
                os.kill(os.getpid(), signal.SIGINT)
                while True:
                    pass
            chat_fake.webhooks.connect(handler=hang)
            chat_fake.send_text()
        """,
    )

    result.stdout.fnmatch_lines(["*attempt  sent m1 -> hang(): KeyboardInterrupt"])


def test_outside_pytest_an_exception_that_leaves_the_block_carries_it():
    script = (
        "from pytest_chatfake import ChatFake\n"
        "with ChatFake() as fake:\n"
        "    fake.send_text()\n"
        "    assert 1 == 2\n"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=60, check=False
    )

    assert "AssertionError\nWhat to look at\n" in done.stderr
    assert "hold   0.05 m1" in done.stderr


def test_under_pytest_the_exception_carries_nothing():
    with pytest.raises(AssertionError) as failed, ChatFake() as fake:
        fake.send_text()
        raise AssertionError
    assert not hasattr(failed.value, "__notes__")
