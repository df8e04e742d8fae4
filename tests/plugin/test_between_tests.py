"""Errors that come back in the right test, and nothing that leaks into the next one."""

import pytest

from pytest_chatfake.fake.fake import service

from ..inner import module_text


def test_an_error_of_a_route_fails_the_test_that_did_not_meet_it(pytester):
    pytester.makepyfile(
        """
        from werkzeug.test import Client

        def ask(fake):
            headers = {"X-API-Key": fake.api_key}
            return Client(fake.wsgi_app).post("/send", headers=headers).status_code

        def test_it(chat_fake):
            @chat_fake.route("/send")
            def send(_):
                raise LookupError("no such campaign")
            assert ask(chat_fake) == 500

        def test_next(chat_fake):
            assert ask(chat_fake) == 404
            chat_fake.settle()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*___ test_it ___*", "E  *LookupError: no such campaign"])


def test_handlers_of_http_are_checked_and_cleared_for_every_test(pytester):
    pytester.makepyfile(module_text("http_handlers"))
    result = pytester.runpytest()
    result.assert_outcomes(passed=4, failed=3)
    result.stdout.fnmatch_lines_random(
        [
            "*___ test_assertion_in_a_handler ___*",
            "E  *assert None == '7'*",
            "*___ test_error_in_a_handler ___*",
            "E  *LookupError: from a handler*",
        ]
    )
    assert "from another handler" not in result.stdout.str().partition("short test summary")[2]


def test_what_a_failing_test_leaves_does_not_leak_into_the_next(pytester):
    pytester.makepyfile(module_text("leaks"))
    result = pytester.runpytest("-W", "error")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E  *KeyError: 'mine'"])


def test_a_setup_that_fails_leaves_no_account_behind(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def broken(chat_fake):
            raise KeyError("setup")

        @pytest.mark.chat_fake(api_key="the-one-key-1234")
        @pytest.mark.parametrize("n", [1, 2])
        def test_it(chat_fake, broken, n): pass

        @pytest.mark.chat_fake(api_key="the-one-key-1234")
        def test_next(chat_fake): pass
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, errors=2)


def test_teardown_checks_run_before_any_fixture_is_finalised(pytester):
    """Time still stands, and a server of the user's, which waits for its clients, can stop."""
    pytester.makepyfile(module_text("own_server"))
    pytester.runpytest("-W", "error").assert_outcomes(passed=1)


def test_a_fixture_that_uses_the_fake_may_use_it_in_its_own_teardown(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def campaign(chat_fake):
            message = chat_fake.send_text()
            yield message
            assert message.status == "read"
            chat_fake.assert_charged("0.05")

        def test_it(campaign):
            campaign.deliver().read()
        """
    )
    pytester.runpytest("-W", "error").assert_outcomes(passed=1)


def test_unittest_classes_can_use_the_fixtures(pytester):
    pytester.makepyfile(
        """
        import unittest
        import pytest
        from pytest_chatfake import ChatFake

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def fake(self, chat_fake):
                self.fake = chat_fake

            def test_fixture(self):
                self.fake.send_text().deliver()
                self.fake.assert_charged("0.05")

            def test_plain(self):
                with ChatFake(price=1) as fake:
                    fake.send_text().deliver()
                    fake.assert_charged(1)
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


@pytest.mark.chat_fake(price="0.37")
def test_a_run_inside_a_test_leaves_the_outer_fixtures_their_own_test(pytester, request):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chat_fake(price="0.11")
        async def test_inside(chat_fake_mode):
            pass
        """
    )
    pytester.runpytest_inprocess("-p", "no:xdist")
    fake = request.getfixturevalue("chat_fake")
    fake.send_text().deliver()

    fake.assert_charged("0.37")


def users():
    """How many users the listener has, and how many fakes."""
    return service._users, len(service._accounts)


def test_the_listener_ends_when_a_run_is_broken_off_and_a_fixture_fails(pytester):
    before = users()
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def app(chat_fake_url):
            yield
            raise LookupError

        def test_it(app):
            pytest.exit("enough")
        """
    )
    pytester.runpytest_inprocess("-p", "no:xdist").stderr.fnmatch_lines(["LookupError"])

    assert users() == before


def test_a_run_of_pytest_inside_a_test_leaves_it_its_timeline(pytester):
    pytester.makeconftest("pytest_plugins = ['pytester']")
    pytester.makepyfile(
        test_outer="""
        def test_it(chat_fake, pytester):
            chat_fake.send_text()
            pytester.makepyfile(test_inner="def test_it(chat_fake): chat_fake.send_text()")
            pytester.runpytest_inprocess("-pno:django").assert_outcomes(passed=1)
            chat_fake.send_text()
            raise KeyError("mine")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*chat_fake timeline*", "*send_text*test_outer.py:2*", "*send_text*test_outer.py:5*"]
    )
