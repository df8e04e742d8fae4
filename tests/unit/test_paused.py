"""Events held back in a block, and released in any order."""

import asyncio

import pytest
import time_machine

from pytest_chatfake import ChatFake, IllegalTransition

from .api_clients import call_with_werkzeug
from .fakes import (
    START,
    fake_with_receiver,
    in_another_thread,
    received_bodies,
    received_statuses,
    trail,
)


def test_events_wait_in_the_order_in_which_they_were_emitted(fake, receiver):
    with fake.webhooks.paused() as queue:
        message = fake.send_text().deliver(devices=2).read()

        assert received_statuses(receiver) == []
        assert [*queue, queue[0], queue[-1]] == [*message.events, *message.events[::3]]
        assert repr(queue) == "<Paused with 4 events>"


def test_leaving_the_block_releases_what_is_left_as_it_was_emitted(fake, receiver):
    with fake.webhooks.paused() as queue:
        fake.send_text().deliver().read()
        queue.release([1])
        assert received_statuses(receiver) == ["delivered"]

    assert received_statuses(receiver) == ["delivered", "sent", "read"]
    assert len(queue) == 0


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("emitted", ["sent", "delivered", "read"]),
        ("reversed", ["read", "delivered", "sent"]),
        ([2, 0, 1], ["read", "sent", "delivered"]),
        ((1,), ["delivered"]),
        ([], []),
        (range(2), ["sent", "delivered"]),
        (iter([2]), ["read"]),
    ],
)
def test_a_release_has_the_order_that_is_asked_for(fake, receiver, order, expected):
    with fake.webhooks.paused() as queue:
        fake.send_text().deliver().read()
        queue.release(order)

        assert expected == received_statuses(receiver)
        assert 3 - len(expected) == len(queue)


def test_a_position_is_an_event_and_its_release_goes_to_all_endpoints(fake):
    got = []
    for name in "ab":
        fake.webhooks.connect(handler=lambda one, name=name: got.append(name + one.event.status))
    with fake.webhooks.paused() as queue:
        fake.send_text().deliver()
        queue.release([1, 0])

        assert got == ["adelivered", "bdelivered", "asent", "bsent"]


def shuffled(by, seed="unit"):
    with fake_with_receiver(seed=seed) as (fake, receiver):
        with fake.webhooks.paused() as queue:
            for number in range(12):
                fake.send_text(to=f"+{number}")
            before = [event.body for event in queue]
            queue.release("shuffled", by)
        assert sorted(before) == sorted(received_bodies(receiver))
        return received_bodies(receiver)


def test_one_seed_gives_one_order_and_the_fake_s_own_is_the_default():
    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert shuffled(None, seed="a") == shuffled(None, seed="a") == shuffled("a", seed="a")


def test_what_follows_a_release_is_held_back_again(fake, receiver):
    with fake.webhooks.paused() as queue:
        message = fake.send_text()
        queue.release()
        message.deliver()

        assert received_statuses(receiver) == ["sent"]
        assert [event.status for event in queue] == ["delivered"]
    message.read()

    assert received_statuses(receiver) == ["sent", "delivered", "read"]


def test_what_was_queued_before_is_attempted_before(fake, receiver):
    @fake.route("/send")
    def send(_):
        return {"id": fake.send_text().id}

    call_with_werkzeug(fake, "POST", "/send")
    assert received_statuses(receiver) == []
    with fake.webhooks.paused() as queue:
        assert received_statuses(receiver) == ["sent"]
        assert list(queue) == []


def test_a_release_runs_due_work_first_and_other_threads_ask_meanwhile():
    codes = []

    def extra(*_):
        codes.append(in_another_thread(lambda: call_with_werkzeug(fake)).status)
        return {"asked": len(codes)}

    with time_machine.travel(START, tick=False) as traveller, ChatFake(extra=extra) as fake:
        receiver = fake.webhooks.receiver()
        with fake.webhooks.paused() as queue:
            fake.send_text().after(60).deliver()
            traveller.shift(60)
            queue.release()

            assert (received_statuses(receiver), codes) == (["sent", "delivered"], [200, 200])


def test_what_fell_due_in_the_block_is_made_at_the_moment_of_its_release():
    with time_machine.travel(START, tick=False) as traveller, ChatFake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.delay(60)
        fake.send_text()
        with fake.webhooks.paused() as queue:
            traveller.shift(90)  # past the moment at which it was due
            queue.release()

        assert trail(fake) == "sent delay +90"


def test_a_reset_inside_forgets_what_was_held_back(fake, receiver):
    with fake.webhooks.paused() as queue:
        fake.send_text()
        fake.reset()
        assert len(queue) == 0
        fake.send_text()
        assert len(queue) == 1
    assert received_statuses(receiver) == ["sent"]


def test_a_big_queue_is_released_without_comparing_all_pairs_of_indexes(fake, receiver):
    compared = 0

    class Index(int):
        __hash__ = int.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return int(self) == other

    with fake.webhooks.paused() as queue:
        for _ in range(1_000):
            fake.send_text()
        queue.release([Index(number) for number in reversed(range(1_000))])

        assert len(receiver.requests) == 1_000
    assert compared < 10_000  # and not half a million


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["backwards"], ValueError, "use 'emitted', 'reversed' or 'shuffled'"),
        ([1], TypeError, "order: expected a list of indices, or one of 'emitted', 'reversed'"),
        ([b"ab"], TypeError, "order: expected a list of indices, or one of 'emitted', 'reversed'"),
        ([[True]], TypeError, "order: expected a list of ints"),
        ([[0, 0]], ValueError, "order: expected each index once"),
        ([[2]], IndexError, "no event 2 in the queue, which holds 2, counted from 0"),
        ([[-1]], IndexError, "no event -1 in the queue"),
        (["shuffled", True], TypeError, "seed: expected an int or a str, got "),
    ],
)
def test_an_order_or_a_seed_that_is_none_is_refused_and_releases_nothing(
    fake, receiver, arguments, error, words
):
    with fake.webhooks.paused() as queue:
        fake.send_text().deliver()

        with pytest.raises(error, match=words):
            queue.release(*arguments)

        assert len(queue) == 2
        assert received_statuses(receiver) == []


@pytest.mark.asyncio
async def test_in_async_mode_the_queue_is_released_with_await():
    with fake_with_receiver(mode="async") as (fake, receiver):
        async with fake.webhooks.paused() as queue:
            message = await fake.send_text().deliver().read()
            assert len(queue) == 3
            await queue.release([2, 0])
            assert receiver.statuses(message) == ["read", "sent"]
        assert receiver.statuses(message) == ["read", "sent", "delivered"]


def test_a_block_that_was_refused_has_no_queue_to_release(fake):
    queue = fake.webhooks.paused()
    with fake.webhooks.paused():
        with pytest.raises(RuntimeError, match="can't enter"):
            queue.__enter__()
        with pytest.raises(RuntimeError, match="nothing is held back"):
            queue.release()


@pytest.mark.asyncio
async def test_the_end_of_a_block_leaves_the_block_of_another_task_alone(fake):
    attempting = asyncio.Event()

    async def app(request):
        attempting.set()
        await asyncio.sleep(0.01)

    async def hold_back():
        await attempting.wait()
        async with fake.webhooks.paused() as queue:
            await fake.send_text(to="two")
            return len(queue)

    fake.webhooks.connect(handler=app)
    holding = asyncio.create_task(hold_back())
    async with fake.webhooks.paused():
        await fake.send_text(to="one")

    assert await holding == 1


@pytest.mark.asyncio
async def test_webhooks_go_on_after_a_paused_block_that_was_refused():
    with fake_with_receiver(mode="async") as (fake, receiver):
        with pytest.raises(IllegalTransition):
            async with fake.webhooks.paused():
                fake.send_text().fail().read()
        await fake.send_text()
        assert received_statuses(receiver) == ["sent", "failed", "sent"]
