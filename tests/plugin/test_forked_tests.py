"""A test in a forked child, as pytest-forked runs it, after the parent's server has started."""

import os
from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system can't fork")

#: Runs marked tests in a forked child, and takes their reports from it.
CONFTEST = module_text("forked_conftest")

BALANCE = """
    import json
    from urllib.request import Request, urlopen

    import pytest
    from pytest_chatfake import ChatFake

    def balance(fake, url=None):
        query = Request(f"{url or fake.base_url}/v2/balance", headers=fake.headers)
        with urlopen(query, timeout=60) as response:
            return json.loads(response.read())["amount"]
"""


@pytest.fixture
def run(tmp_path):
    def run(tests):
        (tmp_path / "conftest.py").write_text(dedent(CONFTEST))
        (tmp_path / "test_it.py").write_text(dedent(BALANCE) + dedent(tests))
        return run_pytest(tmp_path, "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning")

    return run


def test_a_forked_test_has_a_server_of_its_own(run):
    result = run("""
    def test_in_the_parent(chat_fake):
        assert balance(chat_fake) == 100

    @pytest.mark.forked
    def test_in_a_child(chat_fake):
        chat_fake.set_balance(7)
        assert balance(chat_fake) == 7

    def test_in_the_parent_again(chat_fake):
        assert balance(chat_fake) == 100
    """)

    result.assert_outcomes(passed=3)


def test_a_forked_test_takes_the_session_s_fake_over(run):
    result = run("""
    @pytest.fixture(scope="session")
    def session_fake():
        with ChatFake() as fake:
            yield fake

    def test_in_the_parent(session_fake):
        assert balance(session_fake) == 100

    @pytest.mark.forked
    def test_in_a_child(session_fake):
        session_fake.set_balance(7)
        assert balance(session_fake) == 7

    def test_in_the_parent_again(session_fake):
        assert balance(session_fake) == 100
    """)

    result.assert_outcomes(passed=3)


def test_an_inherited_chat_fake_url_is_an_error_that_says_what_to_use(run):
    result = run("""
    def test_in_the_parent(chat_fake, chat_fake_url):
        assert balance(chat_fake, chat_fake_url) == 100

    @pytest.mark.forked
    def test_in_a_child(chat_fake, chat_fake_url):
        pass
    """)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["chat_fake_url is the address of *use chat_fake.base_url, or*"])


def test_where_every_test_is_forked_chat_fake_url_is_its_own(run):
    result = run("""
    @pytest.mark.forked
    @pytest.mark.parametrize("number", range(2))
    def test_in_a_child(chat_fake, chat_fake_url, number):
        assert balance(chat_fake, chat_fake_url) == 100
    """)

    result.assert_outcomes(passed=2)


def test_a_process_that_a_test_forks_asks_the_test_s_own_server(run):
    result = run("""
    import multiprocessing

    def ask(fake, responses):
        responses.put(balance(fake))

    def test_it(chat_fake):
        chat_fake.set_balance(7)
        assert balance(chat_fake) == 7
        context = multiprocessing.get_context("fork")
        responses = context.Queue()
        process = context.Process(target=ask, args=(chat_fake, responses))
        process.start()
        assert responses.get(timeout=60) == 7
        process.join()
        chat_fake.assert_requested("GET", "/v2/balance", times=2)
    """)

    result.assert_outcomes(passed=1)
