"""One suite of tests in many shapes, under every plugin that runs coroutines."""

from ..forked_pytest import run_pytest

CONFTEST = """
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from pytest_chatfake import ChatFakeConfig


@pytest.fixture
def chat_fake_config():
    return ChatFakeConfig(api_key="our-key")


def make_app(url):
    async def hook(request):
        message = (await request.json())["chatMessage"]
        # Without certificates: they take longer to load than all the rest.
        async with httpx.AsyncClient(verify=False, timeout=60) as client:
            response = await client.get(f"{url}/v2/balance", headers={"X-API-Key": "our-key"})
        app.state.seen.append((message["status"], response.json()["amount"]))
        return Response()

    app = Starlette(routes=[Route("/hooks/chat", hook, methods=["POST"])])
    app.state.seen = []
    return app


@pytest.fixture
def app(chat_fake):
    app = make_app(chat_fake.base_url)
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
    return app


@pytest.fixture(scope="session")
def session_app(chat_fake_url):
    return make_app(chat_fake_url)


@pytest.fixture
def sent_before(chat_fake, app):
    return chat_fake.send_text("sent by a fixture")
"""

TESTS = """
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_chatfake import ChatFake

asynchronous = {mark}
few = settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@asynchronous
async def test_a_chain_an_advance_and_a_settle(chat_fake, chat_clock, app):
    before = chat_clock.now

    message = await chat_fake.send_text("x").deliver(devices=2).read()
    await chat_clock.advance(hours=24)
    await chat_fake.settle()

    assert ["sent", "delivered", "delivered", "read"] == [seen for seen, _ in app.state.seen]
    assert {{99.95}} == {{amount for _, amount in app.state.seen}}
    assert before + timedelta(hours=24) == chat_clock.now
    chat_fake.assert_charged("0.05", message=message)


class TestInAClass:
    @asynchronous
    async def test_a_method(self, chat_fake, chat_receiver):
        message = await chat_fake.send_text().deliver()
        assert ["sent", "delivered"] == chat_receiver.statuses(message)

    @staticmethod
    @asynchronous
    async def test_a_static_method(chat_fake, chat_receiver):
        message = await chat_fake.send_text().deliver()
        assert ["sent", "delivered"] == chat_receiver.statuses(message)

    def test_a_plain_method_beside_it(self, chat_fake, chat_receiver):
        message = chat_fake.send_text().deliver()
        assert ["sent", "delivered"] == chat_receiver.statuses(message)


@asynchronous
@pytest.mark.parametrize("devices", [1, 3])
async def test_a_parameter(chat_fake, app, devices):
    await chat_fake.send_text().deliver(devices=devices)
    assert ["sent", *["delivered"] * devices] == [seen for seen, _ in app.state.seen]


@asynchronous
async def test_the_first_await_performs_what_a_plain_fixture_prepared(chat_fake, app, sent_before):
    assert [] == app.state.seen
    await sent_before.deliver()
    assert ["sent", "delivered"] == [seen for seen, _ in app.state.seen]


def test_in_a_plain_test_the_same_fixture_sent_it_already(app, sent_before):
    assert [("sent", 99.95)] == app.state.seen


@asynchronous
@pytest.mark.parametrize("number", [1, 2])
async def test_an_app_of_the_session_asks_whoever_has_the_key_now(chat_fake, session_app, number):
    chat_fake.webhooks.connect(asgi=session_app, path="/hooks/chat")
    session_app.state.seen.clear()

    await chat_fake.set_balance(number)
    await chat_fake.send_text(price="0.5").deliver()

    assert [("sent", number - 0.5), ("delivered", number - 0.5)] == session_app.state.seen


@asynchronous
@few
@given(devices=st.integers(1, 3))
async def test_hypothesis_with_the_fixture(chat_fake, devices):
    await chat_fake.reset()
    message = await chat_fake.send_text().deliver(devices=devices)
    assert devices + 1 == len(message.events)


@asynchronous
@pytest.mark.parametrize("price", ["0.05", "0.10"])
@few
@given(devices=st.integers(1, 3))
async def test_hypothesis_with_the_fixture_and_a_parameter(chat_fake, devices, price):
    await chat_fake.reset()
    await chat_fake.send_text(price=price).deliver(devices=devices)
    chat_fake.assert_charged(price)


@asynchronous
@few
@given(devices=st.integers(1, 3))
async def test_hypothesis_with_a_fake_for_each_example(devices):
    with ChatFake(mode="async") as chat_fake:
        message = await chat_fake.send_text().deliver(devices=devices)
        assert devices + 1 == len(message.events)


@few
@given(devices=st.integers(1, 3))
def test_hypothesis_in_a_plain_test(chat_fake, chat_receiver, devices):
    chat_fake.reset()
    message = chat_fake.send_text().deliver(devices=devices)
    assert devices + 1 == len(message.events)
"""

# How many tests these are, and how many of them are plain functions.
SHAPES, PLAIN = 15, 3


def run(pytester, ini="", **marks):
    """Run the tests, warnings being errors, in a file for each mark on coroutine functions."""
    pytester.makeini(
        f"[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n{ini}"
    )
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(**{name: TESTS.format(mark=mark) for name, mark in marks.items()})
    return run_pytest(pytester.path, "-p", "no:cacheprovider")


def test_pytest_asyncio_in_auto_mode(pytester):
    result = run(pytester, "asyncio_mode = auto", test_auto="lambda test: test")
    result.assert_outcomes(passed=SHAPES)


def test_pytest_asyncio_in_strict_mode_with_any_scope_of_the_loop(pytester):
    scopes = ["function", "class", "module", "package", "session"]
    result = run(
        pytester,
        **{f"test_{scope}": f"pytest.mark.asyncio(loop_scope={scope!r})" for scope in scopes},
    )
    result.assert_outcomes(passed=len(scopes) * SHAPES)


def test_anyio_on_asyncio_and_on_trio(pytester):
    result = run(pytester, test_anyio="pytest.mark.anyio")
    result.assert_outcomes(passed=2 * (SHAPES - PLAIN) + PLAIN)
