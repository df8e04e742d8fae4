"""The timeline in reports: part of the failure's own text, in the first phase that fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import ChatFake

from ..forked_pytest import run_pytest

OPTIONS = ("-p", "no:django", "-p", "no:asyncio", "-p", "no:inline_snapshot")
TITLE = "chat_fake timeline"


def run_apart(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    """Run in a process of its own, which an interrupt may end."""
    pytester.makepyfile(test_it=body)
    return run_pytest(pytester.path, *OPTIONS, "-p", "no:cacheprovider")


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=body)
    return pytester.runpytest(*OPTIONS, "-p", "no:cacheprovider", *options)


def sections(result: pytest.RunResult) -> list[str]:
    """The timelines that a run printed, with ids put short."""
    text = result.stdout.str()
    parts = re.findall(rf"-+ {TITLE} -+\n(.*?)(?=\n(?:[-=_]{{5,}}|\S+\.py:\d+: ))", text, re.DOTALL)
    return [re.sub(r"\b[0-9a-f]{24,32}\b", "...", part).strip() for part in parts]


FAILING = """
    def test_it(chat_fake, chat_clock, chat_receiver):
        chat_fake.webhooks.duplicate(status="delivered")
        chat_fake.send_text().deliver()
        assert 1 == 2
"""


def test_a_failure_has_one_section_that_begins_with_what_to_look_at(
    pytester: pytest.Pytester,
) -> None:
    (section,) = sections(run(pytester, FAILING))

    assert (
        snapshot("""\
What to look at
  11 attempt: delivered m1 -> Receiver(): 200 [duplicate: test_it.py:2], which it took before (10)

What happened
available 99.95, held 0.00, charged 0.05 USD; times are from 2026-01-01T12:00:00.000Z
   1  +0:00.000  fault    duplicate(status='delivered')  at test_it.py:2
   2             verb     send_text() m1  at test_it.py:3
   3             hold     0.05 m1
   4             event    sent m1
   5             attempt  sent m1 -> Receiver(): 200
   6             verb     deliver() m1  at test_it.py:3
   7             release  0.05 m1
   8             charge   0.05 m1
   9             event    delivered m1
  10             attempt  delivered m1 -> Receiver(): 200
  11             attempt  delivered m1 -> Receiver(): 200 [duplicate: test_it.py:2]
  m1 = message ... to +15550100, delivered, in c1
  c1 = conversation ...\
""")
        == section
    )


@pytest.mark.parametrize("option", ["--show-capture=no", "--tb=short", "--tb=native", "-n2"])
def test_it_belongs_to_the_failure_and_not_to_what_is_captured(
    pytester: pytest.Pytester, option: str
) -> None:
    result = run(pytester, FAILING, option)

    assert 1 == result.stdout.str().count(f" {TITLE} -")
    result.stdout.fnmatch_lines(["*attempt: delivered m1 -> Receiver(): 200 ?duplicate: *"])


def test_junit_xml_has_it(pytester: pytest.Pytester) -> None:
    run(pytester, FAILING, "--junitxml=junit.xml")
    (failure,) = ET.parse(pytester.path / "junit.xml").iter("failure")

    assert 1 == (failure.text or "").count(f" {TITLE} -")
    assert "What to look at" in (failure.text or "")


def test_a_failure_without_a_traceback_has_it_too(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest

        def test_it(chat_fake):
            chat_fake.send_text()
            pytest.fail("no more", pytrace=False)
        """,
    )
    result.stdout.fnmatch_lines(["no more", f"*- {TITLE} -*", "What to look at"])


PHASES = """
    import pytest
    from pytest_chatfake import ChatFake

    @pytest.fixture
    def sent(chat_fake):
        chat_fake.send_text(to="+1")
        yield
        chat_fake.send_text(to="+3")
        raise RuntimeError("teardown")

    @pytest.fixture
    def broken(chat_fake):
        chat_fake.send_text()
        raise RuntimeError("setup")

    def test_setup(broken):
        pass

    def test_teardown(chat_fake, sent):
        pass

    def test_both(chat_fake, sent):
        chat_fake.send_text(to="+2")
        raise RuntimeError("call")

    def test_passed(chat_fake):
        chat_fake.send_text()

    def test_skipped(chat_fake):
        chat_fake.send_text()
        pytest.skip()

    @pytest.mark.xfail
    def test_expected(chat_fake):
        chat_fake.send_text()
        assert False
"""


def messages(section: str) -> list[str]:
    return re.findall(r"send_text\(\) (m\d)", section)


def test_each_phase_that_fails_tells_what_is_new(pytester: pytest.Pytester) -> None:
    result = run(pytester, PHASES)
    result.assert_outcomes(passed=2, failed=1, errors=3, skipped=1, xfailed=1)

    assert sorted([["m1"], ["m1", "m2"], ["m1", "m2"], ["m3"]]) == sorted(
        messages(section) for section in sections(result)
    )
    assert "What happened, after what is told above" in result.stdout.str()


def test_each_fake_of_a_test_has_its_own(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from pytest_chatfake import ChatFake

        def test_it(chat_fake):
            chat_fake.send_text(to="+1")
            with ChatFake() as mine:
                mine.send_text(to="+2").deliver()
                assert 1 == 2
        """,
    )

    first, second = sections(result)
    assert "to +1," in first
    assert "to +2," in second
    assert "Note" not in result.stdout.str()


def test_a_fake_that_outlives_a_test_tells_of_the_test_that_failed_only(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        import pytest
        from pytest_chatfake import ChatFake

        @pytest.fixture(scope="module")
        def fake():
            with ChatFake() as fake:
                yield fake

        def test_one(fake):
            fake.send_text(to="+1")

        def test_two(fake):
            fake.send_text(to="+2")
            assert 1 == 2
        """,
    )

    (section,) = sections(result)
    assert ["m2"] == messages(section)


def test_of_a_hundred_fakes_the_last_ten_are_told_of(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from pytest_chatfake import ChatFake

        def test_it():
            for number in range(100):
                with ChatFake() as fake:
                    fake.send_text()
            assert 1 == 2
        """,
    )
    assert 10 == len(sections(result))


def test_of_a_property_only_the_example_that_falsifies_it_is_told_of(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        import pytest
        from hypothesis import given, settings, strategies as st
        from hypothesis.stateful import RuleBasedStateMachine, rule
        from pytest_chatfake import ChatFake

        @pytest.fixture(scope="module")
        def shared():
            with ChatFake() as fake:
                yield fake

        FAST = settings(max_examples=30, deadline=None, database=None, derandomize=True)

        @FAST
        @given(st.integers(0, 1000))
        def test_property(shared, number):
            with ChatFake() as fake, ChatFake() as second:
                fake.send_text(to=f"+1{number}")
                second.send_text(to=f"+2{number}")
                assert number < 7

        @FAST
        @given(st.integers(0, 1000))
        def test_two_failures(number):
            with ChatFake() as fake:
                fake.send_text(to=f"+1{number}")
                if number > 900:
                    raise ValueError
                assert number < 7

        class Machine(RuleBasedStateMachine):
            def __init__(self):
                super().__init__()
                self.fake = ChatFake()

            @rule(number=st.integers(0, 1000))
            def send(self, number):
                self.fake.send_text(to=f"+1{number}")
                assert number < 7

            def teardown(self):
                self.fake.close()

        Machine.TestCase.settings = FAST
        TestMachine = Machine.TestCase
        """,
    )

    sections = [
        one.partition("\n=====")[0] for one in result.stdout.str().split("- chat_fake timeline -")
    ]
    told = [re.findall(r"to (\+\d+), sent", one) for one in sections[1:]]
    assert [["+17"], ["+27"]] == told[:2]
    assert {"+17", "+1901"} == {one for addresses in told[2:4] for one in addresses}
    assert [["+17"]] == told[4:]


@pytest.mark.parametrize(("when", "count"), [("failed", 1), ("always", 2), ("never", 0)])
def test_the_ini_option_says_which_reports_have_it(
    pytester: pytest.Pytester, when: str, count: int
) -> None:
    pytester.makeini(f"[pytest]\nchat_fake_timeline = {when}\n")
    body = f"{FAILING}\n    def test_passed(chat_fake):\n        chat_fake.send_text()\n"
    result = run(pytester, body, "-rA")

    assert count == result.stdout.str().count(f" {TITLE} -")


def test_another_word_in_the_ini_option_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nchat_fake_timeline = sometimes\n")
    result = run(pytester, FAILING)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["*the ini option chat_fake_timeline is failed, always or never, not 'sometimes'"]
    )


def test_a_run_without_failures_renders_nothing(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from pytest_chatfake.report import trace

        def test_it(chat_fake, chat_receiver, monkeypatch):
            monkeypatch.setattr(trace, "Trace", None)
            chat_fake.send_text().deliver()
        """,
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "option",
    [
        "--html=report.html",
        "--chat-fake-report=report.html",
        "--chat-fake-coverage",
    ],
)
def test_a_timeline_that_can_t_be_told_does_not_spoil_the_report(
    pytester: pytest.Pytester, option: str
) -> None:
    result = run(
        pytester,
        """
        def test_it(chat_fake):
            chat_fake.send_text()
            chat_fake._engine.journal.kinds[1] = 31
            assert 1 == 2

        def test_next(chat_fake):
            pass
        """,
        option,
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "it can't be told: KeyError: 31"])
    if option.startswith("--chat-fake-report"):
        assert "it can&#x27;t be told: KeyError: 31" in (pytester.path / "report.html").read_text()


def test_what_a_route_raised_has_its_traceback(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        from werkzeug.test import Client

        def test_it(chat_fake):
            @chat_fake.route("/v2/messages")
            def send(request):
                raise KeyError("to")

            Client(chat_fake.wsgi_app).post("/v2/messages", headers={"X-API-Key": chat_fake.api_key})
            assert 1 == 2
        """,
    )
    result.stdout.fnmatch_lines(
        [
            "What to look at",
            "  a route raised KeyError: 'to' at test_it.py:6",
            "  1 request: POST /v2/messages with the key *: 500",
            "A route raised",
            "KeyError: 'to'",
        ]
    )


# -- folding ---------------------------------------------------------------------------------------


def test_a_long_timeline_is_folded_and_keeps_what_matters(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        def test_it(chat_fake, chat_clock, chat_receiver):
            for number in range(20):
                chat_fake.send_text(to=f"+{number}")
            named = chat_fake.send_text(to="+named")
            with chat_fake.webhooks.duplicate():
                chat_fake.send_text(to="+marked")
            for number in range(20):
                chat_fake.send_text(to=f"-{number}")
            chat_fake.assert_charged(1, message=named)
        """,
    )

    (section,) = sections(result)
    shown = section.partition("What happened\n")[2].splitlines()
    folds = [line.strip() for line in shown if "left out" in line]
    assert [
        "... 60 left out: 15 verbs, 15 holds, 15 events, 15 attempts ...",
        "... 5 left out: 1 fault, 1 verb, 1 hold, 1 event, 1 attempt ...",
        "... 40 left out: 10 verbs, 10 holds, 10 events, 10 attempts ...",
    ] == folds
    kept = [line for line in shown[1:] if re.match(r" +\d+ ", line)]
    assert 20 + 4 + 1 + 40 == len(kept)
    assert 4 == sum(" m21" in line for line in kept)


def test_what_an_expectation_names_is_kept_however_much_is_marked(
    pytester: pytest.Pytester,
) -> None:
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.parametrize("total", [True, False])
        def test_it(chat_fake, chat_clock, chat_receiver, total):
            chat_fake.webhooks.duplicate(times=None)
            for number in range(30):
                chat_fake.send_text(to=f"+{number}").deliver()
            named = chat_fake.send_text(to="+named")
            for number in range(30):
                chat_fake.send_text(to=f"-{number}").deliver()
            chat_fake.assert_charged(100, message=None if total else named)
        """,
    )

    for section in sections(result):
        kept = [line for line in section.splitlines() if re.search(r"^ +\d+ .* m31\b", line)]
        assert ["verb", "hold", "event", "attempt", "attempt"] == [
            re.findall(r"verb|hold|event|attempt", line)[0] for line in kept
        ]


# -- whose line it is ------------------------------------------------------------------------------

LINES = """
    import threading

    import pytest

    @pytest.fixture
    def sent(chat_fake):
        return chat_fake.send_text(to="+fixture")

    def helper(fake):
        return fake.send_text(to="+helper")

    def hidden(fake):
        __tracebackhide__ = True
        return fake.send_text(to="+hidden")

    def outer(fake):
        return hidden(fake)

    class TestClass:
        def test_it(self, chat_fake, sent):
            chat_fake.send_text(to="+own")
            helper(chat_fake)
            hidden(chat_fake)
            outer(chat_fake)
            thread = threading.Thread(target=helper, args=(chat_fake,))
            thread.start(), thread.join()
            chat_fake.webhooks.connect(handler=lambda r: None if r.event.message_id in seen else (
                seen.add(r.event.message_id), helper(chat_fake) if len(seen) < 2 else None)[0])
            seen = set()
            chat_fake.send_text(to="+attempt")
            assert 1 == 2
"""


def test_each_verb_names_the_tests_line_and_then_the_helpers(pytester: pytest.Pytester) -> None:
    (section,) = sections(run(pytester, LINES))

    verbs = re.findall(r"send_text\(\) m\d+  at (.*)", section)
    assert [
        "test_it.py:20 via test_it.py:7",
        "test_it.py:21",
        "test_it.py:22 via test_it.py:10",
        "test_it.py:23",
        "test_it.py:24 via test_it.py:17",
        "test_it.py:10 while at test_it.py:26",
        "test_it.py:30",
        "test_it.py:30 via test_it.py:10",
    ] == verbs


def test_a_helper_of_a_conftest_is_named_after_the_tests_line(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def send(fake):\n    return fake.send_text()\n")
    result = run(
        pytester,
        """
        from conftest import send

        def test_it(chat_fake):
            send(chat_fake)
            assert 1 == 2
        """,
        "-p",
        "no:cacheprovider",
        "--import-mode=prepend",
    )

    result.stdout.fnmatch_lines(["*send_text() m1  at test_it.py:4 via conftest.py:2"])


# -- interrupts and outside pytest -----------------------------------------------------------------


def test_ctrl_c_prints_it(pytester: pytest.Pytester) -> None:
    result = run_apart(
        pytester,
        """
        def test_it(chat_fake, chat_receiver):
            chat_fake.send_text()
            raise KeyboardInterrupt
        """,
    )

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines([f"*= {TITLE} =*", "What to look at", "*verb     send_text() m1*"])


def test_pytest_exit_prints_it_too(pytester: pytest.Pytester) -> None:
    result = run_apart(
        pytester,
        """
        import pytest

        def test_it(chat_fake):
            chat_fake.send_text()
            pytest.exit("the database is gone")
        """,
    )

    result.stdout.fnmatch_lines([f"*= {TITLE} =*", "What to look at", "*verb   send_text() m1*"])


@pytest.mark.parametrize("options", [[], ["-q"], ["-v"]])
def test_what_ctrl_c_prints_has_a_line_of_its_own(
    pytester: pytest.Pytester, options: list[str]
) -> None:
    pytester.makepyfile(
        test_it="""
        def test_before():
            pass

        def test_it(chat_fake):
            chat_fake.send_text()
            raise KeyboardInterrupt
        """
    )
    result = pytester.runpytest_inprocess(*OPTIONS, *options, no_reraise_ctrlc=True)

    (line,) = [line for line in result.outlines if f" {TITLE} " in line]
    assert line.startswith("===")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_in_the_middle_of_an_attempt_shows_that_it_has_no_answer(
    pytester: pytest.Pytester,
) -> None:
    result = run_apart(
        pytester,
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


def test_outside_pytest_an_exception_that_leaves_the_block_carries_it() -> None:
    script = (
        "from pytest_chatfake import ChatFake\n"
        "with ChatFake() as fake:\n"
        "    fake.send_text()\n"
        "    assert 1 == 2\n"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "AssertionError\nWhat to look at\n" in done.stderr
    assert "hold   0.05 m1" in done.stderr


def test_under_pytest_the_exception_carries_nothing() -> None:
    with pytest.raises(AssertionError) as failed, ChatFake() as fake:
        fake.send_text()
        raise AssertionError
    assert not hasattr(failed.value, "__notes__")
