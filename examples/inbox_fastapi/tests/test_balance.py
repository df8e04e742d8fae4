"""The background job asks the service for the balance while the service waits for its webhook."""

import asyncio
from dataclasses import replace

import pytest
from inbox_fastapi import Settings
from inbox_fastapi.testing import Inbox

from pytest_chatfake import ChatFake, Clock

pytestmark = pytest.mark.asyncio


async def test_every_webhook_is_followed_by_a_look(chat_fake: ChatFake, inbox: Inbox) -> None:
    await chat_fake.send_text().deliver()

    # 0.05 is held once it is sent, and charged once it is delivered: it can't be spent either way.
    assert await inbox.balance() == {"amount": "99.95", "low": False, "problem": None, "looks": 2}
    chat_fake.assert_requested("GET", "/v2/balance", times=2)


async def test_a_balance_below_the_threshold_is_low(chat_fake: ChatFake, inbox: Inbox) -> None:
    await chat_fake.set_balance("10.05")
    message = await chat_fake.send_text()
    assert not (await inbox.balance())["low"]

    await message.deliver(price="0.06")

    assert await inbox.balance() == {"amount": "9.99", "low": True, "problem": None, "looks": 2}


async def test_money_held_for_a_phone_that_is_off_is_back_after_30_days(
    chat_fake: ChatFake, chat_clock: Clock, inbox: Inbox
) -> None:
    await chat_fake.send_text("Are you there?", to="+4915550001")
    await chat_clock.advance(days=30)

    await chat_fake.send_text("Hello", to="+4915550002", price="0.01")

    assert (await inbox.balance())["amount"] == "99.99"


async def test_a_key_that_is_not_accepted_is_shown_and_no_webhook_is_lost(
    chat_fake: ChatFake, inbox: Inbox
) -> None:
    chat_fake.rotate_key()

    message = await chat_fake.send_text()

    assert (await inbox.message(message.id))["status"] == "sent"
    assert (await inbox.balance())["problem"] == "401 INVALID_API_KEY"


async def test_the_next_look_sees_a_top_up(chat_fake: ChatFake, inbox: Inbox) -> None:
    await chat_fake.top_up(50)
    await chat_fake.send_text()

    assert (await inbox.balance())["amount"] == "149.95"


class TestOnATimer:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, look_every=0.01)

    async def test_a_top_up_is_noticed_without_a_webhook(
        self, chat_fake: ChatFake, inbox: Inbox
    ) -> None:
        await chat_fake.top_up(50)

        async with asyncio.timeout(5):
            while (await inbox.balance())["amount"] != "150":  # noqa: ASYNC110 - as a user would
                await asyncio.sleep(0.01)
