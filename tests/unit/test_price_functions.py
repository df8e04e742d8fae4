"""A price that is a function: when it is asked, and what it may do in the middle of a verb."""

import asyncio
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
import time_machine

from pytest_chatfake import ChatFake, ChatFakeError, IllegalTransition

from .api_clients import call_with_werkzeug
from .fakes import START, frozen_fake, received_statuses, visible_state


@pytest.fixture
def traveller():
    """What an app's own tests move time with."""
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


# -- when it is asked, and what it answers ---------------------------------------------------------


def test_a_price_function_is_asked_when_the_message_is_sent():
    going_rate = ["0.01"]
    with frozen_fake(price=lambda message: going_rate[0]) as fake:
        submission = fake.submit_text()
        going_rate[0] = "0.02"
        message = submission.accept()
        going_rate[0] = "0.03"

        assert Decimal("0.02") == message.held
        assert Decimal("0.02") == message.deliver().charged


def test_a_price_function_that_raises_leaves_a_submission_as_it_was(fake):
    prices = [LookupError("no tariff"), "2"]

    def price(_):
        found = prices.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    before = visible_state(fake)
    submission = fake.submit_text(price=price)
    with pytest.raises(LookupError, match="no tariff"):
        submission.accept()
    assert before == visible_state(fake)
    message = submission.accept()

    assert Decimal(2) == message.held
    assert message.id.endswith("00000001")  # the first id was not used up


# -- what it may do --------------------------------------------------------------------------------

CHANGES = {
    "send_text()": lambda fake: fake.send_text("inner", price="1"),
    "top_up()": lambda fake: fake.top_up(5),
    "settle()": lambda fake: fake.settle(),
    "advance()": lambda fake: fake.clock.advance(days=31),
    "reset()": lambda fake: fake.reset(),
}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_price_function_can_change_nothing(fake, verb):
    def price(_):
        CHANGES[verb](fake)
        return "2"

    before = visible_state(fake)
    with pytest.raises(ChatFakeError, match=rf"^can't call {verb[:-2]}\(\) from a price"):
        fake.send_text(price=price)

    assert before == visible_state(fake)
    assert str(fake.send_text(price="2").deliver().charged) == "2"


def test_a_price_function_may_look_while_other_steps_are_pending():
    seen = []

    def price(message):
        seen.append((message.body, fake.balance.held))
        return "2"

    async def story():
        await fake.send_text(price=price).deliver().read()

    with ChatFake(mode="async") as fake:
        asyncio.run(story())
    assert [("Hello", Decimal(0))] == seen


def ask_balance(fake):
    headers = {"X-API-Key": fake.api_key}
    request = urllib.request.Request(f"{fake.base_url}/v2/balance", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.read()


def test_a_price_function_may_ask_for_the_balance_over_http():
    with ChatFake() as fake:

        def price(_):
            return "0.10" if b"100" in ask_balance(fake) else "0.20"

        message = fake.send_text(price=price)

        assert Decimal("0.10") == message.held


# -- beside other threads --------------------------------------------------------------------------


def test_a_message_that_is_sent_while_another_is_priced_keeps_its_own_id():
    with ChatFake() as fake:

        def price(message):
            if message.body == "slow":
                other = threading.Thread(target=fake.send_text, args=("quick",))
                other.start()
                other.join(10)
            return "0.05"

        fake.send_text("slow", price=price)

        assert [message.body for message in fake.messages] == ["quick", "slow"]
        assert len({message.id for message in fake.messages}) == 2
        assert fake.messages[0].conversation == fake.messages[1].conversation


def test_a_submission_that_two_threads_accept_is_sent_once():
    both = threading.Barrier(2, timeout=5)

    def price(_):
        both.wait()
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        submission = fake.submit_text(price=price)
        ends = [pool.submit(submission.accept) for _ in range(2)]
        errors = [type(future.exception()) for future in ends]

        assert {type(None), IllegalTransition} == set(errors)
        assert [event.status for event in fake.events] == ["sent"]
        assert [entry.kind for entry in fake.ledger] == ["opening", "hold"]
        assert fake.messages[0].status == "sent"
        assert fake.messages[0].id == fake.events[0].message_id


def test_a_thread_that_still_prices_is_refused_when_another_one_has_priced():
    first_is_sent, both = threading.Event(), threading.Barrier(2, timeout=5)

    def price(message):
        both.wait()
        if message.to == "+2":
            assert first_is_sent.wait(5)
            with pytest.raises(ChatFakeError, match=r"^can't call top_up\(\) from a price"):
                fake.top_up(1)
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        second = pool.submit(fake.send_text, to="+2", price=price)
        pool.submit(fake.send_text, to="+1", price=price).result(5)
        first_is_sent.set()

        assert second.result(5).status == "sent"
        fake.top_up(1)  # nobody prices any more


def test_a_reset_while_a_price_function_is_asked_is_refused(fake):
    refusals = []

    def reset():
        try:
            fake.reset()
        except ChatFakeError as error:
            refusals.append(error)

    def price(_):
        thread = threading.Thread(target=reset)
        thread.start()
        thread.join(5)
        return "2"

    fake.send_text(price=price)

    assert [str(error) for error in refusals] == [
        "can't call reset() while a price function is running"
    ]
    assert 1 == len(fake.messages) == len(fake.events)


# -- while other things fall due -------------------------------------------------------------------


@pytest.mark.parametrize(
    "look", [lambda fake: fake.balance, lambda fake: fake.assert_available("99.95")]
)
def test_what_falls_due_while_a_message_is_priced_happens_before_its_send(traveller, look):
    """The function of ``extra=`` is called inside the price function then."""
    seen = []

    def price(_):
        traveller.shift(60)  # as an app's own test of time does
        look(fake)
        seen.append([received_statuses(receiver), [event.status for event in fake.events]])
        for _ in range(2):
            with pytest.raises(ChatFakeError, match=r"^can't call top_up\(\) from a price"):
                fake.top_up(1)
        return "0.10"

    def fields(_, status):
        if status == "delivered":
            with pytest.raises(ChatFakeError, match=r"^can't call top_up\(\) from the function of"):
                fake.top_up(1)
        return {"of": status}

    with ChatFake(extra=fields) as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text("first").after(60).deliver()
        second = fake.send_text("second", price=price)

        assert seen == [[["sent"], ["sent", "delivered"]]]  # attempted only when the verb is done
        assert received_statuses(receiver) == ["sent", "delivered", "sent"]
        assert Decimal("0.05") == fake.messages[0].charged
        assert [Decimal(0), "sent"] == [second.held, second.status]  # the session is open already
        fake.top_up(1)  # nobody prices any more


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

        assert second._state.state == "sent"
        with pytest.raises(IllegalTransition, match=r"can't deliver message .* was scheduled"):
            _ = fake.messages


def test_a_price_function_can_t_close_the_fake(fake):
    def price(_):
        with pytest.raises(ChatFakeError, match=r"^can't call close\(\) from a receiver, a route"):
            fake.close()
        return "0.10"

    assert Decimal("0.10") == fake.send_text(price=price).held
