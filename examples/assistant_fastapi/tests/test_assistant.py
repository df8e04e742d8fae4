"""What the assistant does, with everything that the service may do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from assistant_fastapi.app import Assistant
from assistant_fastapi.mistakes import AnswersTwice, RemembersTooLate, TakesEchoesForCustomers

from pytest_chatfake import ChatFake

#: Runs the app, with its assistant or with another one; see ``conftest.py``.
OpenShop: TypeAlias = Callable[..., Any]

pytestmark = pytest.mark.asyncio


async def test_a_customer_gets_an_answer(chat_fake: ChatFake, open_shop: OpenShop) -> None:
    async with open_shop() as shop:
        await shop.customer_writes("Are you open?")
        message = chat_fake.find_message(to="+4915", externalId="answer-1")
        await message.deliver().read()

        assert message.body == "Thank you for writing: Are you open?"
        answer = shop.store.answers["answer-1"]
        assert (answer.status, answer.service_id) == ("read", message.id)


async def test_statuses_in_the_wrong_order_do_not_go_back(
    chat_fake: ChatFake, open_shop: OpenShop
) -> None:
    async with open_shop() as shop:
        await shop.customer_writes("Hello")
        async with chat_fake.webhooks.paused() as queue:
            await chat_fake.find_message(to="+4915").deliver().read()
            await queue.release("reversed")

        assert shop.store.answers["answer-1"].status == "read"


async def test_a_customer_who_writes_within_the_day_costs_nothing_more(
    chat_fake: ChatFake, open_shop: OpenShop
) -> None:
    async with open_shop() as shop:
        for number in (1, 2):
            await shop.customer_writes("Hello")
            await chat_fake.find_message(externalId=f"answer-{number}").deliver()

        chat_fake.assert_charged("0.05")
        assert [one.status for one in shop.store.answers.values()] == ["delivered"] * 2


# -- three mistakes that were seen in real apps: the correct assistant has none, each other has one


@pytest.mark.parametrize(
    ("assistant", "status"), [(Assistant, "sent"), (RemembersTooLate, "queued")]
)
async def test_a_webhook_may_come_before_the_answer_of_the_send_call(
    chat_fake: ChatFake, open_shop: OpenShop, assistant: type[Assistant], status: str
) -> None:
    async with open_shop(assistant, webhooks_first=True) as shop:
        await shop.assistant_writes()
        assert shop.store.answers["answer-1"].status == status


@pytest.mark.parametrize(("assistant", "answers"), [(Assistant, 1), (AnswersTwice, 2)])
async def test_an_incoming_message_may_come_twice(
    chat_fake: ChatFake, open_shop: OpenShop, assistant: type[Assistant], answers: int
) -> None:
    async with open_shop(assistant) as shop:
        chat_fake.webhooks.duplicate(type="chat.inbound_message.received")
        await shop.customer_writes("Hello")
        assert len(chat_fake.messages) == answers


@pytest.mark.parametrize(("assistant", "answers"), [(Assistant, 0), (TakesEchoesForCustomers, 2)])
async def test_the_owners_echo_is_no_customer_and_silences_the_assistant(
    chat_fake: ChatFake, open_shop: OpenShop, assistant: type[Assistant], answers: int
) -> None:
    async with open_shop(assistant) as shop:
        await shop.owner_writes("I will call you")
        await shop.customer_writes("Thank you")
        assert len(chat_fake.messages) == answers
