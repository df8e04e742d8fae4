"""Chains that are awaited side by side: one order, one account, and nobody is left in the dark."""

import asyncio
import re
from decimal import Decimal
from functools import partial

import anyio
import pytest

from pytest_chatfake import ChatFake, IllegalTransition, NotAwaited

from ..unit.both_frameworks import BOTH, hard_limit  # noqa: F401


@pytest.fixture
def fake():
    with ChatFake(mode="async") as fake:
        yield fake


@pytest.fixture
def both(fake):
    """Two messages that are yet to be sent."""
    return fake.send_text(to="one"), fake.send_text(to="two")


async def side_by_side(*chains):
    """Await them at once; return for each its result or its error."""
    outcomes = [None] * len(chains)

    async def wait(number):
        try:
            outcomes[number] = await chains[number]
        except Exception as error:
            outcomes[number] = error

    async with anyio.create_task_group() as group:
        for number in range(len(chains)):
            group.start_soon(wait, number)
    return outcomes


@BOTH
def test_gathered_chains_are_performed_in_the_order_they_were_written(run, fake, both):
    async def main():
        receiver = fake.webhooks.receiver()
        one, two = both

        outcomes = await side_by_side(one.deliver().read(), two.deliver(devices=2))

        assert [one, two] == outcomes
        assert [
            (one.id, "sent"),
            (two.id, "sent"),
            (one.id, "delivered"),
            (one.id, "read"),
            (two.id, "delivered"),
            (two.id, "delivered"),
        ] == [(event.message_id, event.status) for event in receiver.events]
        fake.assert_charged("0.10")

    run(main)


@BOTH
def test_each_gathered_chain_waits_until_its_own_steps_are_attempted(run, fake):
    async def main():
        handled = []

        async def handler(request):
            await anyio.sleep(0.01)
            handled.append((request.event.message_id, request.event.status))

        fake.webhooks.connect(handler=handler)
        one, two = fake.send_text(to="one").deliver(), fake.send_text(to="two").deliver()

        async def follow(message):
            await message
            return (message.id, "delivered") in handled

        assert await side_by_side(follow(one), follow(two)) == [True, True]

    run(main)


@BOTH
def test_a_message_without_steps_does_not_wait_for_others(run, fake, both):
    async def main():
        one, two = both
        await fake.settle()
        done = []

        async def handler(request):
            for _ in range(100):
                if not done:
                    await anyio.sleep(0.001)

        async def follow(message):
            done.append(await message)

        fake.webhooks.connect(handler=handler)
        await side_by_side(follow(one.deliver()), follow(two))

        assert [two, one] == done

    run(main)


@pytest.mark.asyncio
async def test_a_dropped_chain_is_refused_once_or_begun_anew_by_its_next_verb(fake, both):
    one, two = both
    await one.read()

    async def drop_a_delivery():
        one.deliver()
        two.deliver()
        with pytest.raises(IllegalTransition):
            await one

    await drop_a_delivery()
    with pytest.raises(NotAwaited, match=r"deliver\(\) at .* was skipped"):
        await two
    await drop_a_delivery()
    assert (await two.read()).status == "read"


@pytest.mark.asyncio
async def test_a_chain_that_failed_in_the_await_of_another_is_refused_once(fake):
    one, two = fake.send_text(to="one"), fake.send_text(to="two").fail().deliver()

    with pytest.raises(IllegalTransition):
        await one
    with pytest.raises(NotAwaited, match=r"deliver\(\) at .* failed in another await"):
        await two
    assert await two is two


@pytest.mark.asyncio
async def test_a_chain_that_failed_in_its_own_await_is_not_refused_again(fake):
    message = fake.send_text().fail().deliver()

    with pytest.raises(IllegalTransition):
        await message
    assert await message is message


@pytest.mark.asyncio
async def test_an_error_says_which_of_the_pending_steps_it_was(fake):
    failed = fake.send_text().fail().read()

    with pytest.raises(IllegalTransition) as caught:
        await fake.settle()

    (note,) = caught.value.__notes__
    assert failed.status == "failed"
    assert re.fullmatch(r"in read\(\) at test_frameworks_gather\.py:\d+", note)


@pytest.mark.asyncio
async def test_an_error_ends_who_performs_and_whose_step_it_was_and_no_other(fake):
    async def slow(request):
        await anyio.sleep(0.01)

    fake.webhooks.connect(handler=slow)
    one, two, three = (fake.send_text(to=to) for to in ("one", "two", "three"))

    chains = one.deliver(), two.fail().read().deliver(), three.deliver()
    performer, owner, bystander = await side_by_side(*chains)

    assert isinstance(performer, IllegalTransition)
    assert isinstance(owner, NotAwaited)
    assert owner.__cause__ is performer
    assert (bystander, three.status) == (three, "delivered")
    assert await two is two  # it was told once


@pytest.mark.asyncio
async def test_who_is_cancelled_in_the_moment_of_its_turn_is_just_cancelled(fake, both):
    one, two = both

    async def wait():
        await two.deliver()

    async def perform():
        waiting = asyncio.ensure_future(wait())
        await one
        waiting.cancel()
        return waiting

    fake.webhooks.connect(handler=lambda _: asyncio.sleep(0.01))
    waiting = await perform()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.asyncio
async def test_a_cancellation_of_who_waits_ends_its_chain_and_no_other(fake, both):
    one, two = both
    await fake.settle()
    gate = asyncio.Event()

    async def gated(_):
        await gate.wait()

    fake.webhooks.connect(handler=gated)
    chains = one.deliver().read(), two.deliver()
    performs, waits = map(asyncio.ensure_future, reversed(chains))
    await asyncio.sleep(0.01)

    waits.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert (await performs, one.status, two.status) == (two, "delivered", "delivered")


@pytest.mark.asyncio
async def test_a_cancelled_settle_leaves_the_steps_of_another_task(fake):
    await fake.send_text()
    gate = asyncio.Event()

    async def gated(_):
        await gate.wait()

    async def awaiting(call):
        await call()

    fake.webhooks.connect(handler=gated)
    calls = fake.messages[0].deliver, fake.settle, partial(fake.top_up, 5)
    performs, settles, tops_up = (asyncio.ensure_future(awaiting(call)) for call in calls)
    await asyncio.sleep(0.01)

    settles.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(performs, tops_up)
    assert fake.balance.available == Decimal("104.95")
