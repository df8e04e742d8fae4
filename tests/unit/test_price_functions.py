"""A price that is a function: when it is asked, and what it may do in the middle of a verb."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
import requests
import time_machine

from pytest_chatfake import ChatFake, ChatFakeError, IllegalTransition

from .api_clients import call_with_werkzeug
from .fakes import START, frozen_fake, in_another_thread, received_statuses, unchanged


@pytest.fixture
def traveller():
    """What an app's own tests move time with."""
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


# -- when it is asked, and what it returns ---------------------------------------------------------


def test_a_price_function_is_asked_when_the_message_is_sent():
    going_rate = ["0.01"]
    with frozen_fake(price=lambda message: going_rate[0]) as fake:
        submission = fake.submit_text()
        going_rate[0] = "0.02"
        message = submission.accept()
        going_rate[0] = "0.03"

        assert [message.held, message.deliver().charged] == [Decimal("0.02")] * 2


# -- what it may do --------------------------------------------------------------------------------

CHANGES = {
    "send_text()": lambda fake: fake.send_text("inner", price="1"),
    "top_up()": lambda fake: fake.top_up(5),
    "settle()": lambda fake: fake.settle(),
    "advance()": lambda fake: fake.clock.advance(days=31),
    "reset()": lambda fake: fake.reset(),
    "close()": lambda fake: fake.close(),
}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_price_function_can_change_nothing(fake, verb):
    def price(_):
        CHANGES[verb](fake)
        return "2"

    with (
        unchanged(fake),
        pytest.raises(ChatFakeError, match=rf"^can't call {verb[:-2]}\(\) from a"),
    ):
        fake.send_text(price=price)

    assert str(fake.send_text(price="2").deliver().charged) == "2"


@pytest.mark.asyncio
async def test_a_price_function_may_look_while_other_steps_are_pending(fake):
    seen = []

    def price(message):
        seen.append((message.body, fake.balance.held))
        return "2"

    await fake.send_text(price=price).deliver().read()
    assert seen == [("Hello", 0)]


def test_a_price_function_may_ask_for_the_balance_over_http(fake):
    def price(_):
        url, key = f"{fake.base_url}/v2/balance", {"X-API-Key": fake.api_key}
        return requests.get(url, headers=key, timeout=10).json()["amount"] // 50

    assert fake.send_text(price=price).held == 2


# -- beside other threads --------------------------------------------------------------------------


def test_a_message_that_is_sent_while_another_is_priced_keeps_its_own_id(fake):
    def price(message):
        if message.body == "slow":
            in_another_thread(lambda: fake.send_text("quick"))
        return "0.05"

    fake.send_text("slow", price=price)

    assert [message.body for message in fake.messages] == ["quick", "slow"]
    assert len({message.id for message in fake.messages}) == 2
    assert fake.messages[0].conversation == fake.messages[1].conversation


def test_a_submission_that_two_threads_accept_is_sent_once():
    both = threading.Barrier(2, timeout=60)

    def price(_):
        both.wait()
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        submission = fake.submit_text(price=price)
        ends = [pool.submit(submission.accept) for _ in range(2)]
        errors = [type(future.exception()) for future in ends]

        assert {*errors} == {type(None), IllegalTransition}
        (message,) = fake.messages
        assert [(event.message_id, event.status) for event in fake.events] == [(message.id, "sent")]
        assert [entry.kind for entry in fake.ledger] == ["opening", "hold"]


def test_a_thread_that_still_prices_is_refused_when_another_one_has_priced():
    first_is_sent, both = threading.Event(), threading.Barrier(2, timeout=60)

    def price(message):
        both.wait()
        if message.to == "+2":
            assert first_is_sent.wait(60)
            with pytest.raises(ChatFakeError, match=r"^can't call top_up\(\) from a price"):
                fake.top_up(1)
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        second = pool.submit(fake.send_text, to="+2", price=price)
        pool.submit(fake.send_text, to="+1", price=price).result(60)
        first_is_sent.set()

        assert second.result(60).status == "sent"
        fake.top_up(1)  # nobody prices any more


# -- while other things fall due -------------------------------------------------------------------


def test_what_is_queued_is_not_attempted_in_the_middle_of_a_verb(fake):
    receiver = fake.webhooks.receiver()
    seen = []

    @fake.route("/send")
    def send(_):
        fake.send_text("queued")

    def price(_):
        fake.assert_charged(0)  # outside of a verb, this attempts what is queued
        seen.append(received_statuses(receiver))
        return "0.10"

    call_with_werkzeug(fake, "POST", "/send")
    fake.send_text(price=price)

    assert seen == [[]]
    assert received_statuses(receiver) == ["sent", "sent"]


def test_an_error_found_while_a_message_is_priced_comes_back_after_it(traveller):
    def price(_):
        traveller.shift(60)
        _ = fake.balance
        return "0.10"

    with ChatFake() as fake:
        message = fake.send_text("first")
        message.after(60).read().deliver()
        second = fake.send_text("second", price=price)

        with pytest.raises(IllegalTransition, match=r"can't deliver message .* was scheduled"):
            _ = fake.messages
        assert second.status == "sent"
