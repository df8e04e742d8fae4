"""A fake that is first used inside a mock works after it, in whichever way it is first used."""

import pytest

from ..forked_pytest import PLUGINS

#: A test inside mocks, then one without. What happens inside them is the first test's own matter.
TESTS = """
    import http.client
    import json
    from contextlib import ExitStack, nullcontext, suppress
    from unittest import mock

    import pytest
    import pytest_chatfake
    import helper

    connection_type = http.client.HTTPConnection
    MOCKED = [
        "http.client.HTTPConnection", "http.client.HTTPSConnection", "http.client.HTTPResponse",
        "socket.socket", "socket.create_connection", "socket.create_server", "socket.getaddrinfo",
        "http.server.BaseHTTPRequestHandler", "socketserver.ThreadingMixIn", "pathlib.Path",
        "selectors.DefaultSelector", "queue.SimpleQueue", "concurrent.futures.Future",
        "datetime.datetime", "random.Random", "io.BufferedReader", "importlib.metadata.version",
    ]

    def use(fake):
        fake.http.expect_request("/hooks").respond_with_data("")
        fake.webhooks.connect(fake.http.url_for("/hooks"))
        fake.send_text().deliver()
        assert [attempt.ok for attempt in fake.webhooks.attempts] == [True, True]
        connection = connection_type(fake.base_url.removeprefix("http://"), timeout=60)
        connection.request("GET", "/v2/balance", headers=fake.headers)
        assert json.loads(connection.getresponse().read())["currency"] == "USD"
        connection.close()

    def fail(fake):
        with pytest.raises(AssertionError, match="charged"):
            fake.assert_charged(999)

    @pytest.mark.filterwarnings("ignore")
    def test_inside_mocks(request):
        with ExitStack() as stack:
            for name in MOCKED:
                stack.enter_context(mock.patch(name))
            with suppress(Exception), {first} as fake:
                use(fake)
                fail(fake)

    def test_without_mocks(request):
        with {first} as fake:
            use(fake)
            fail(fake)
            assert "<svg" in fake.timeline.svg()
"""

#: How the first test gets its fake.
FIRST = {
    "a fixture": 'nullcontext(request.getfixturevalue("chat_fake"))',
    "the class": "pytest_chatfake.ChatFake()",
    "a helper": "nullcontext(helper.fake_of(request))",
}

#: A module that names the fixture, for tests that don't.
HELPER = """
    def fake_of(request):
        return request.getfixturevalue("chat_fake")
"""


@pytest.fixture(autouse=True)
def _without_other_plugins(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "")


def run(pytester, *options):
    """A run in a process that has not imported the fake yet, with our plugins only."""
    pytester.makepyfile(helper=HELPER)
    options = (*options, "-o", "chat_fake_strict=false")  # what happens inside mocks is not judged
    return pytester.runpytest_subprocess(*(f"-p{name}" for name in PLUGINS), *options, timeout=120)


@pytest.mark.parametrize("first", FIRST)
def test_a_fake_that_is_first_used_inside_mocks_works_after_them(pytester, first):
    pytester.makepyfile(test_it=TESTS.replace("{first}", FIRST[first]))

    run(pytester).assert_outcomes(passed=2)


def test_an_xdist_worker_s_fake_first_used_inside_mocks_works_later(pytester):
    pytester.makepyfile(test_it=TESTS.replace("{first}", FIRST["a fixture"]))

    run(pytester, "-pxdist", "-n1").assert_outcomes(passed=2)


EXPLORED = """
    from contextlib import suppress
    from unittest import mock

    def explore(chat_explore):
        @chat_explore
        def world(chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)
            chat_fake.send_text().deliver()

    def test_inside_mocks(request):
        with mock.patch("pathlib.Path"), mock.patch("datetime.datetime"):
            with suppress(Exception):
                explore(request.getfixturevalue("chat_explore"))

    def test_without_mocks(request):
        explore(request.getfixturevalue("chat_explore"))
"""


def test_an_exploration_first_used_inside_mocks_works_after_them(pytester):
    pytester.makepyfile(test_it=EXPLORED)

    run(pytester).assert_outcomes(passed=2)
