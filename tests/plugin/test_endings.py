"""What a test leaves behind, and what its report shows."""

import re

import pytest

from ..inner import module_text

# -- what a test overlooked ------------------------------------------------------------------------

LEFTOVERS = module_text("overlooked")

#: What is said of the first three.
SAID = [
    "1 attempt failed; fix the app, or assert on chat_fake.webhooks.attempts:",
    "  sent m1* (caused at test_it.py:16) to app.<locals>.app (WSGI) /: status 302 (*)",
    "1 attempt failed; fix the app, or assert on chat_fake.webhooks.attempts:",
    "  sent m1* (caused at test_it.py:26*) to app.<locals>.app (WSGI) /: status 302 (*)",
    "1 unused fault; set up a fault before the verb, or remove it:",
    "  lose(status='read'), set up at test_it.py:30",
]


def test_a_test_fails_for_what_it_overlooked(pytester):
    pytester.makepyfile(test_it=LEFTOVERS)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines([f"*{line}" for line in SAID])
    result.stdout.fnmatch_lines(
        [">   chat_fake.send_text()", "E   *", "test_it.py:16: UndeliveredWebhooks"]
    )
    result.stdout.no_fnmatch_line("*final_checks.py*")  # the report shows no frame of ours


def test_without_strictness_it_is_warned_about_with_its_line(pytester):
    pytester.makeini("[pytest]\nchat_fake_strict = false\n")
    pytester.makepyfile(test_it=LEFTOVERS)
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*::test_overlooked", *(f"*{line}" for line in SAID)])


def test_where_warnings_are_errors_they_fail_the_test(pytester):
    pytester.makeini("[pytest]\nchat_fake_strict = false\n")
    pytester.makepyfile(LEFTOVERS)
    pytester.runpytest("-W", "error").assert_outcomes(passed=1, failed=3)


def test_a_fault_that_a_fixture_set_up_may_be_for_other_tests(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def lossy(chat_fake):
            chat_fake.webhooks.lose(status="read")

        def test_it(lossy, chat_fake, chat_receiver):
            chat_fake.send_text()

        @pytest.fixture
        def refusing(chat_receiver):
            chat_receiver.respond(503)

        def test_other(refusing):
            pass
        """
    )
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*WebhookWarning: 1 unused fault; *", "*  lose(status='read'), *"])


def test_a_test_that_ended_otherwise_is_counted_once(pytester):
    pytester.makepyfile(module_text("other_endings"))
    result = pytester.runpytest()
    result.assert_outcomes(xfailed=2, failed=5, skipped=2)


RETRIES = """
    from _pytest.runner import runtestprotocol

    def pytest_runtest_protocol(item, nextitem):
        for _ in range(2 if item.name == "test_retried" else 1):
            item._initrequest()
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                item.ihook.pytest_runtest_logreport(report=report)
        return True
"""


def test_a_test_passes_at_its_second_run_only_if_it_overlooks_nothing_then(pytester):
    pytester.makeconftest(RETRIES)
    pytester.makepyfile(
        """
        runs = []

        def test_retried(chat_fake):
            runs.append(1)
            chat_fake.webhooks.lose()
            assert len(runs) == 2
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*UnusedFault: 1 unused fault*"])


#: Fakes that are never closed, on the lines that end in "# unclosed"; and fakes that are, or that a
#: test could not come to close.
UNCLOSED = module_text("unclosed_fakes")


def test_a_fake_that_can_not_be_closed_any_more_is_warned_about(pytester):
    pytester.makeconftest(RETRIES)
    lines = pytester.makepyfile(UNCLOSED).read_text("utf-8").splitlines()
    result = pytester.runpytest_subprocess("-W", "default", timeout=60)
    expected = {n for n, line in enumerate(lines, 1) if line.endswith("# unclosed")}
    output = f"{result.stdout}{result.stderr}"
    told = re.findall(r"Warning: ChatFake\(\) at .*\.py:(\d+) was never closed", output)

    assert {int(number) for number in told} == expected


def test_what_the_app_prints_at_the_end_is_captured_as_the_tests_own(pytester):
    pytester.makepyfile(
        """
        from werkzeug.test import Client

        def test_it(chat_fake):
            def app(environ, start_response):
                print("at the end")
                raise LookupError("from the app")
            chat_fake.webhooks.connect(wsgi=app)
            @chat_fake.route("/send")
            def send(_):
                return {"id": chat_fake.send_text().id}
            Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E  *LookupError: from the app", "*- Captured stdout call -*", "at the end"]
    )


def test_the_nearest_of_option_configuration_and_marker_sets_strictness(pytester):
    pytester.makeini("[pytest]\nchat_fake_strict = false\n")
    pytester.makepyfile(module_text("strictness"))
    result = pytester.runpytest("-W", "default", "-rA")
    result.assert_outcomes(passed=3, failed=2, warnings=3)
    result.stdout.fnmatch_lines_random(
        ["FAILED *::test_marker", "FAILED *::TestConfigured::test_configuration"]
    )


def test_strictness_that_is_neither_true_nor_false_is_a_usage_error(pytester):
    result = pytester.runpytest("-o", "chat_fake_strict=perhaps")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the ini option chat_fake_strict: *'perhaps'*"])


def test_a_test_that_failed_anyway_is_told_in_its_report_not_in_warnings(pytester):
    pytester.makepyfile(
        """
        def app(environ, start_response):
            start_response("500 No", [])
            return []

        def test_it(chat_fake, chat_clock):
            chat_fake.webhooks.connect(wsgi=app)
            chat_fake.send_text().deliver()
            assert chat_fake.balance.charged == 0
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       assert chat_fake.balance.charged == 0",
            "*- chat_fake timeline -*",
            "What to look at",
            "  #4 (attempt) sent m1 -> app /: 500 (did it raise? no exception*)",
            "  #9 (attempt) delivered m1 -> app /: 500 (did it raise? no exception*)",
            "available 99.95, held 0.00, charged 0.05 USD; times are from 2026-01-01T12:00:00.000Z",
            "  1  +0:00.000  verb     send_text() m1  at test_a_test*.py:7",
        ]
    )


@pytest.mark.parametrize("kind", ["RuntimeError", "TypeError"])
def test_an_error_whose_text_cannot_be_had_fails_its_test_and_no_more(pytester, kind):
    pytester.makepyfile(
        f"""
        class Mute({kind}):
            def __str__(self):
                raise ValueError("no text")

        def test_it(chat_fake):
            chat_fake.send_text()
            raise Mute

        def test_next(chat_fake):
            chat_fake.send_text()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*raise Mute*", "*- chat_fake timeline -*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_test_without_use_of_the_fake_has_no_section(pytester):
    pytester.makepyfile("def test_it(chat_fake):\n    assert False")
    assert "chat_fake timeline" not in pytester.runpytest().stdout.str()


# -- never awaited ---------------------------------------------------------------------------------

FORGOTTEN = module_text("never_awaited")


def test_a_chain_never_awaited_fails_its_test_and_follows_its_own_failure(pytester):
    pytester.makepyfile(test_it=FORGOTTEN)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=2, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*___ test_forgotten ___*",
            "E  *NotAwaited: missing await at test_it.py:12: 2 steps were never performed",
            "E  *assert 1 == 2*",
            "*- chat_fake timeline -*",
            "  1 step was not performed, starting with the chain at test_it.py:16: *",
        ]
    )
