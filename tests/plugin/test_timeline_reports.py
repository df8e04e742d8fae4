"""The timeline in reports: part of the failure's own text, in the first phase that fails."""

import os
import re
import subprocess
import sys
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import ChatFake

from ..forked_pytest import run_pytest

OPTIONS = ("-p", "no:django", "-p", "no:asyncio", "-p", "no:inline_snapshot")
TITLE = "chat_fake timeline"


def run(folder, body, *options):
    (folder / "test_it.py").write_text(dedent(body), "utf-8")
    return run_pytest(folder, *OPTIONS, "-p", "no:cacheprovider", *options)


def sections(text):
    """The timelines in a text, with ids put short."""
    parts = re.findall(
        rf"-+ {TITLE} -+\n(.*?)(?=\n(?:[-=_]{{5,}}|\S+\.py:\d+: )|\Z)", text, re.DOTALL
    )
    return [re.sub(r"\b[0-9a-f]{24,32}\b", "...", part).strip() for part in parts]


# -- what failing tests print ----------------------------------------------------------------------

FAILING = """
    def test_it(chat_fake, chat_clock, chat_receiver):
        chat_fake.webhooks.duplicate(status="delivered")
        chat_fake.send_text().deliver()
        assert 1 == 2
"""

SUITE = f"""
    import threading

    import pytest
    from werkzeug.test import Client

    from conftest import send
    from pytest_chatfake import ChatFake
    {FAILING}
    def test_no_traceback(chat_fake):
        chat_fake.send_text()
        pytest.fail("no more", pytrace=False)

    # Phases

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

    # Which fakes

    @pytest.fixture(scope="module")
    def shared():
        with ChatFake() as fake:
            yield fake

    def test_before(shared):
        shared.send_text(to="+1")

    def test_after(shared):
        shared.send_text(to="+2")
        assert 1 == 2

    def test_two_fakes(chat_fake):
        chat_fake.send_text(to="+1")
        with ChatFake() as mine:
            mine.send_text(to="+2").deliver()
            assert 1 == 2

    def test_a_hundred_fakes():
        for number in range(100):
            with ChatFake() as fake:
                fake.send_text()
        assert 1 == 2

    # What can't be shown, and what a route raised

    def test_broken_journal(chat_fake):
        chat_fake.send_text()
        chat_fake._engine.core.history.records[1] = 31
        assert 1 == 2

    def test_route(chat_fake):
        @chat_fake.route("/v2/messages")
        def send(request):
            raise KeyError("to")

        Client(chat_fake.wsgi_app).post("/v2/messages", headers={{"X-API-Key": chat_fake.api_key}})
        assert 1 == 2

    # Folding

    def test_folded(chat_fake, chat_clock, chat_receiver):
        for number in range(20):
            chat_fake.send_text(to=f"+{{number}}")
        named = chat_fake.send_text(to="+named")
        with chat_fake.webhooks.duplicate():
            chat_fake.send_text(to="+marked")
        for number in range(20):
            chat_fake.send_text(to=f"-{{number}}")
        chat_fake.assert_charged(1, message=named)

    # How long it is at most

    def test_refused(chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: 500)
        for number in range(30):
            chat_fake.send_text(to=f"+{{number}}")
        assert 1 == 2

    def test_campaign(chat_fake, chat_clock, chat_receiver):
        chat_fake.autopilot(deliver_after=(60, 7200), read_after=(60, 7200), fail_share=0.1)
        for number in range(1_000):
            chat_fake.send_text(to=f"+{{number}}")
        chat_clock.advance(days=1)
        chat_fake.assert_charged(1)

    @pytest.mark.parametrize("total", [True, False])
    def test_marked(chat_fake, chat_clock, chat_receiver, total):
        chat_fake.webhooks.duplicate(times=None)
        for number in range(30):
            chat_fake.send_text(to=f"+{{number}}").deliver()
        named = chat_fake.send_text(to="+named")
        for number in range(30):
            chat_fake.send_text(to=f"-{{number}}").deliver()
        chat_fake.assert_charged(100, message=None if total else named)

    # Lines

    @pytest.fixture
    def by_fixture(chat_fake):
        return chat_fake.send_text(to="+fixture")

    def helper(fake):
        return fake.send_text(to="+helper")

    def hidden(fake):
        __tracebackhide__ = True
        return fake.send_text(to="+hidden")

    class TestClass:
        def test_lines(self, chat_fake, by_fixture):
            base = chat_fake.send_text(to="+own")
            helper(chat_fake)
            hidden(chat_fake)
            send(chat_fake)
            thread = threading.Thread(target=helper, args=(chat_fake,))
            thread.start(), thread.join()
            chat_fake.webhooks.connect(handler=lambda r: None if r.event.message_id in seen else (
                seen.add(r.event.message_id), helper(chat_fake) if len(seen) < 2 else None)[0])
            seen = set()
            chat_fake.send_text(to="+attempt")
            assert 1 == 2
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What pytest prints of each failure, by the names of the tests."""
    folder = tmp_path_factory.mktemp("printed")
    (folder / "conftest.py").write_text("def send(fake):\n    return fake.send_text()\n", "utf-8")
    result = run(folder, SUITE)
    result.assert_outcomes(passed=3, failed=14, errors=3, skipped=1, xfailed=1)
    text = result.stdout.str().partition("\n===== short")[0]
    parts = re.split(r"^_+ (?:ERROR at \w+ of )?(\S+) _+$", text, flags=re.MULTILINE)
    found = {}
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = found.get(name, "") + part
    return found


def told(printed, test):
    """The one timeline that was printed of a test."""
    (section,) = sections(printed[test])
    return section


def messages(section):
    return re.findall(r"send_text\(\) (m\d)", section)


def test_a_failure_has_one_section_that_begins_with_what_to_look_at(printed):
    assert snapshot("""\
What to look at
  11 attempt: delivered m1 -> Receiver(): 200 [duplicate: test_it.py:11], which it took before (10)

What happened
available 99.95, held 0.00, charged 0.05 USD; times are from 2026-01-01T12:00:00.000Z
   1  +0:00.000  fault    duplicate(status='delivered')  at test_it.py:11
   2             verb     send_text() m1  at test_it.py:12
   3             hold     0.05 m1
   4             event    sent m1
   5             attempt  sent m1 -> Receiver(): 200
   6             verb     deliver() m1  at test_it.py:12
   7             release  0.05 m1
   8             charge   0.05 m1
   9             event    delivered m1
  10             attempt  delivered m1 -> Receiver(): 200
  11             attempt  delivered m1 -> Receiver(): 200 [duplicate: test_it.py:11]
  m1 = message ... to +15550100, delivered\
""") == told(printed, "test_it")


def test_a_failure_without_a_traceback_has_it_too(printed):
    assert printed["test_no_traceback"].startswith("\nno more\n-----")
    assert told(printed, "test_no_traceback").startswith("What to look at")


def test_each_phase_that_fails_tells_what_is_new(printed):
    phases = [sections(printed[name]) for name in ("test_setup", "test_teardown", "test_both")]

    # Errors stand before failures: of the last one, what the teardown adds.
    assert [[messages(section) for section in found] for found in phases] == [
        [["m1"]],
        [["m1", "m2"]],
        [["m3"], ["m1", "m2"]],
    ]
    assert "What happened since the section above" in phases[-1][0]


def test_each_fake_of_a_test_has_its_own(printed):
    first, second = sections(printed["test_two_fakes"])
    assert "to +1," in first
    assert "to +2," in second


def test_a_fake_that_outlives_a_test_tells_of_the_test_that_failed_only(printed):
    assert messages(told(printed, "test_after")) == ["m2"]


def test_of_a_hundred_fakes_the_last_ten_are_told_of(printed):
    assert len(sections(printed["test_a_hundred_fakes"])) == 10


def test_a_timeline_that_can_t_be_told_does_not_spoil_the_report(printed):
    assert "assert 1 == 2" in printed["test_broken_journal"]
    assert (
        told(printed, "test_broken_journal")
        == "it can't be shown: AttributeError: 'int' object has no attribute '_marks'"
    )


def test_what_a_route_raised_has_its_traceback(printed):
    looked, _, raised = told(printed, "test_route").partition("\nA route raised\n")

    assert "  a route raised KeyError: 'to' at test_it.py:" in looked
    assert re.search(r"  1 request: POST /v2/messages with the API key \S+: 500\n", looked)
    assert raised.endswith("KeyError: 'to'")


def test_a_long_timeline_is_folded_and_keeps_what_matters(printed):
    shown = told(printed, "test_folded").partition("What happened\n")[2]

    assert re.findall(r"\.\.\. .+ \.\.\.$", shown, re.MULTILINE) == [
        "... the same 19 times more: 5 to 80 ...",
        "... the same 19 times more: 95 to 170 ...",
    ]
    kept = re.findall(r"^ +\d+ .*", shown, re.MULTILINE)
    assert len(kept) == 4 + 4 + 6 + 4
    assert sum(" m21" in line for line in kept) == 4


@pytest.mark.parametrize("test", ["test_refused", "test_marked[True]", "test_campaign"])
def test_a_failure_prints_at_most_120_lines_however_much_happened(printed, test):
    assert 20 < len(printed[test].splitlines()) <= 120


@pytest.mark.parametrize("total", ["True", "False"])
def test_what_an_expectation_names_is_kept_however_much_is_marked(printed, total):
    shown = told(printed, f"test_marked[{total}]")

    kept = re.findall(r"^ +\d+ .*\b(verb|hold|event|attempt)  .* m31\b", shown, re.MULTILINE)
    assert kept == ["verb", "hold", "event", "attempt", "attempt"]


def test_each_verb_names_the_tests_line_and_then_the_helpers(printed):
    lines = re.findall(r"send_text\(\) m\d  (?:at )?(.*)", told(printed, "TestClass.test_lines"))
    first = int(re.findall(r":(\d+)$", lines[1])[0])  # the test's own

    assert snapshot(
        [
            "test_it.py:-1 via test_it.py:-11",
            "test_it.py:+0",
            "test_it.py:+1 via test_it.py:-8",
            "test_it.py:+2",
            "test_it.py:+3 via conftest.py:-146",
            "by the app, at test_it.py:-8",
            "test_it.py:+9",
            "test_it.py:+9 via test_it.py:-8",
        ]
    ) == [re.sub(r"\.py:(\d+)", lambda line: f".py:{int(line[1]) - first:+}", one) for one in lines]


# -- formats and options ---------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--show-capture=no", "--tb=native", "-n1"])
def test_it_belongs_to_the_failure_and_not_to_what_is_captured(tmp_path, option):
    result = run(tmp_path, FAILING, option, "--junitxml=junit.xml")
    (failure,) = ET.parse(tmp_path / "junit.xml").iter("failure")

    for text in (result.stdout.str(), failure.text or ""):
        assert text.count(f" {TITLE} -") == 1
        assert "11 attempt: delivered m1 -> Receiver(): 200 [duplicate: " in text


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


def test_a_timeline_that_can_t_be_shown_spoils_no_report(tmp_path):
    body = """
    def test_it(chat_fake):
        chat_fake.send_text()
        chat_fake._engine.core.history.records[1] = 31
        assert 1 == 2

    def test_next(chat_fake):
        pass
    """
    result = run(tmp_path, body)

    result.assert_outcomes(failed=1, passed=1)
    assert (
        "it can't be shown: AttributeError: 'int' object has no attribute '_marks'"
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
def test_ctrl_c_in_the_middle_of_an_attempt_shows_that_it_has_no_answer(tmp_path):
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
