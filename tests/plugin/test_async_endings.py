"""How async tests begin and end: fixtures of any loop, and chains that nobody awaited."""

from ..forked_pytest import run_pytest
from ..inner import module_text


def run(pytester, source, *args):
    """Run the tests of one file, warnings being errors."""
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function"
    )
    pytester.makepyfile(test_it=source)
    return run_pytest(pytester.path, "-p", "no:cacheprovider", *args)


# Never awaited


def test_a_chain_never_awaited_fails_the_test_with_its_count_and_line(pytester):
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.asyncio
        async def test_forgetful(chat_fake):
            await chat_fake.send_text()
            chat_fake.send_text().deliver().read()

        @pytest.mark.asyncio
        async def test_the_next_one(chat_fake):
            await chat_fake.send_text()
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*NotAwaited: missing await at test_it.py:6: 3 steps were never performed"]
    )


def test_whatever_performs_steps_can_be_forgotten(pytester):
    result = run(
        pytester,
        module_text("failing_in_trio"),
    )
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            f"*NotAwaited: missing await at test_it.py:{n}: 1 step was never performed"
            for n in (12, 16, 20, 24, "32 via test_it.py:29")
        ]
    )


def test_reading_a_result_too_early_says_where_the_await_belongs(pytester):
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.asyncio
        async def test_hasty(chat_fake):
            message = chat_fake.send_text().deliver()
            assert message.status == "delivered"
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*NotAwaited: missing await at test_it.py:5: send_text() was not performed yet, *"]
    )


# Other ways to run


def test_unittest_with_a_fake_of_its_own(pytester):
    result = run(
        pytester,
        """
        from unittest import IsolatedAsyncioTestCase

        from pytest_chatfake import ChatFake

        class TestInUnittest(IsolatedAsyncioTestCase):
            async def asyncSetUp(self):
                self.chat_fake = self.enterContext(ChatFake(mode="async"))
                self.receiver = self.chat_fake.webhooks.receiver()

            async def test_a_chain(self):
                message = await self.chat_fake.send_text().deliver()
                self.assertEqual(["sent", "delivered"], self.receiver.statuses(message))

            async def test_time(self):
                message = await self.chat_fake.send_text()
                await self.chat_fake.clock.advance(days=30)
                self.assertTrue(message.dropped)

            async def test_forgetful(self):
                self.chat_fake.send_text()
        """,
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*NotAwaited: missing await at test_it.py:20: 1 step was never performed"]
    )


def test_async_fixtures_prepare_tests_also_from_another_loop(pytester):
    result = run(
        pytester,
        module_text("endings_of_chains"),
    )
    result.assert_outcomes(passed=2)
