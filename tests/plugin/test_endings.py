"""What a test leaves behind, and what its report shows."""

from __future__ import annotations

import pytest

# -- warnings --------------------------------------------------------------------------------------

LEFTOVERS = """
    import pytest
    from werkzeug.test import Client

    @pytest.fixture
    def app():
        def app(environ, start_response):
            start_response("500 No", [])
            return []
        return app

    def test_overlooked(chat_fake, app):
        chat_fake.webhooks.connect(wsgi=app)
        chat_fake.send_text()

    def test_queued(chat_fake, chat_receiver):
        @chat_fake.route("/send")
        def send(_):
            return {"id": chat_fake.send_text().id}
        Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})

    def test_never_fired(chat_fake, chat_receiver):
        chat_fake.webhooks.drop(status="read")
        chat_fake.send_text()

    def test_clean(chat_fake, chat_receiver):
        chat_fake.send_text()
"""


def test_what_was_overlooked_is_warned_about_with_its_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LEFTOVERS)
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "*::test_overlooked",
            (
                "*WebhookWarning: 1 attempt failed, and the test did not look at "
                "fake.webhooks.attempts:"
            ),
            (
                "*  sent of message * at app.<locals>.app (WSGI) /: status 500 (*); "
                "caused at test_what_was_overlooked*.py:13"
            ),
            "*::test_queued",
            "*WebhookWarning: 1 event still queued: *",
            "*  sent of message *, caused at test_what_was_overlooked*.py:18",
            "*::test_never_fired",
            "*WebhookWarning: 1 unused fault, because nothing matched:",
            "*  drop(status='read'), set up at test_what_was_overlooked*.py:22",
        ]
    )


def test_where_warnings_are_errors_they_fail_the_test_at_its_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LEFTOVERS)
    result = pytester.runpytest("-W", "error")
    result.assert_outcomes(passed=4, errors=3)


STRICT_REPORT = [
    "*UndeliveredWebhooks: 1 attempt failed, and the test did not look at fake.webhooks.attempts:",
    "*  sent of message * at app.<locals>.app (WSGI) /: status 500 (*); caused at *.py:13",
    "*UndeliveredWebhooks: 1 event still queued: *",
    "*UndeliveredWebhooks: 1 unused fault, because nothing matched:",
]


def test_strictness_in_one_line_fails_the_tests_that_would_be_warned(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nchat_fake_strict = true\n")
    pytester.makepyfile(LEFTOVERS)
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(passed=4, errors=3)
    result.stdout.fnmatch_lines(STRICT_REPORT)
    result.stdout.no_fnmatch_line("*teardown.py*")  # the report shows no frame of ours


def test_the_nearer_of_option_configuration_and_marker_says_how_strict_a_test_is(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nchat_fake_strict = true\n")
    pytester.makepyfile(
        """
        import pytest
        from pytest_chatfake import ChatFakeConfig

        def idle(chat_fake):
            chat_fake.webhooks.drop()

        def test_option(chat_fake):
            idle(chat_fake)

        @pytest.mark.chat_fake(strict=None)
        def test_none_says_nothing(chat_fake):
            idle(chat_fake)

        @pytest.mark.chat_fake(strict=False)
        def test_marker(chat_fake):
            idle(chat_fake)

        class TestConfigured:
            @pytest.fixture
            def chat_fake_config(self):
                return ChatFakeConfig(strict=False)

            def test_configuration(self, chat_fake):
                idle(chat_fake)

            @pytest.mark.chat_fake(strict=True)
            def test_marker_before_configuration(self, chat_fake):
                idle(chat_fake)
        """
    )
    result = pytester.runpytest("-W", "default", "-rA")
    result.assert_outcomes(passed=5, errors=3, warnings=2)
    result.stdout.fnmatch_lines_random(
        [
            "ERROR *::test_option",
            "ERROR *::test_none_says_nothing",
            "ERROR *::TestConfigured::test_marker_before_configuration",
        ]
    )


def test_strictness_that_is_neither_true_nor_false_is_a_mistake_in_the_usage(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest("-o", "chat_fake_strict=perhaps")
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: the ini option chat_fake_strict: *'perhaps'*"])


def test_a_test_that_failed_anyway_is_told_in_its_report_and_not_in_warnings(
    pytester: pytest.Pytester,
) -> None:
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
            "  4 attempt: sent m1 -> app /: 500 (did it raise? its log has the error)",
            "  9 attempt: delivered m1 -> app /: 500 (did it raise? its log has the error)",
            "available 99.95, held 0.00, charged 0.05 USD; times are from 2026-01-01T12:00:00.000Z",
            "  1  +0:00.000  verb     send_text() m1  at test_a_test*.py:7",
        ]
    )


@pytest.mark.parametrize("kind", ["RuntimeError", "TypeError"])
def test_an_error_whose_text_cannot_be_had_fails_its_test_and_no_more(
    pytester: pytest.Pytester, kind: str
) -> None:
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


def test_a_test_without_use_of_the_fake_has_no_section(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(chat_fake):\n    assert False")
    assert "chat_fake timeline" not in pytester.runpytest().stdout.str()


# -- never awaited ---------------------------------------------------------------------------------

FORGOTTEN = """
    import asyncio
    import pytest

    @pytest.fixture
    def chat_fake_mode():
        return "async"

    def test_forgotten(chat_fake):
        chat_fake.send_text("x").deliver()

    def test_forgotten_and_failed(chat_fake):
        chat_fake.send_text("x")
        assert 1 == 2

    def test_clean(chat_fake):
        async def scenario():
            message = await chat_fake.send_text("x").deliver()
            assert message.status == "delivered"
        asyncio.run(scenario())

    def test_skipped(chat_fake):
        chat_fake.send_text("x")
        pytest.skip("not today")
"""


def test_a_chain_that_was_never_awaited_fails_its_test_and_follows_a_failure_of_its_own(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=FORGOTTEN)
    result = pytester.runpytest()
    result.assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_forgotten*",
            "E  *NotAwaited: missing await at test_it.py:9: 2 steps were never performed",
            "E  *assert 1 == 2*",
            "*- chat_fake timeline -*",
            "  1 step was not performed, from the chain at test_it.py:12 on: *",
        ]
    )
