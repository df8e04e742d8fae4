from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_chatfake import ChatFake

asynchronous = pytest.mark.anyio  # or another mark, which the test puts here
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

    assert [seen for seen, _ in app.state.seen] == ["sent", "delivered", "delivered", "read"]
    assert {99.95} == {amount for _, amount in app.state.seen}
    assert before + timedelta(hours=24) == chat_clock.now
    chat_fake.assert_charged("0.05", message=message)


class TestInAClass:
    @asynchronous
    async def test_a_method(self, chat_fake, chat_receiver):
        message = await chat_fake.send_text().deliver()
        assert chat_receiver.statuses(message) == ["sent", "delivered"]

    @staticmethod
    @asynchronous
    async def test_a_static_method(chat_fake, chat_receiver):
        message = await chat_fake.send_text().deliver()
        assert chat_receiver.statuses(message) == ["sent", "delivered"]

    def test_a_plain_method_beside_it(self, chat_fake, chat_receiver):
        message = chat_fake.send_text().deliver()
        assert chat_receiver.statuses(message) == ["sent", "delivered"]


@asynchronous
@pytest.mark.parametrize("devices", [1, 3])
async def test_a_parameter(chat_fake, app, devices):
    await chat_fake.send_text().deliver(devices=devices)
    assert ["sent", *["delivered"] * devices] == [seen for seen, _ in app.state.seen]


@asynchronous
async def test_the_first_await_performs_what_a_plain_fixture_prepared(chat_fake, app, sent_before):
    assert app.state.seen == []
    await sent_before.deliver()
    assert [seen for seen, _ in app.state.seen] == ["sent", "delivered"]


def test_in_a_plain_test_the_same_fixture_sent_it_already(app, sent_before):
    assert app.state.seen == [("sent", 99.95)]


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
