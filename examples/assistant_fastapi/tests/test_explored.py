"""The assistant in every world; and two mistaken ones, which an exploration finds by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from assistant_fastapi.mistakes import AnswersTwice, RemembersTooLate

from pytest_chatfake import ChatFake, Explorer, WebhookTests


class TestWebhooks(WebhookTests):
    """The assistant greets one customer, and another one writes, gets an answer, and reads it."""

    async def connect(
        self, chat_fake: ChatFake, open_shop_of: Callable[..., Any]
    ) -> AsyncIterator[Callable[[], list[tuple[str, str]]]]:
        async with open_shop_of(chat_fake) as shop:
            self.shop = shop
            answers = shop.store.answers
            yield lambda: sorted((answer.customer, answer.status) for answer in answers.values())

    def expected(self, chat_fake: ChatFake) -> list[tuple[str, str]]:
        return sorted((message.to, message.status) for message in chat_fake.messages)

    async def scenario(self, chat_fake: ChatFake) -> None:
        await self.shop.assistant_writes("+4916")
        await self.shop.customer_writes("Are you open?")
        await chat_fake.settle()
        await chat_fake.find_message(to="+4915").deliver().read()


@pytest.mark.asyncio
async def test_an_answer_that_is_given_twice_is_found(
    chat_explore: Explorer, open_shop_of: Callable[..., Any]
) -> None:
    async def world(chat_fake: ChatFake) -> None:
        async with open_shop_of(chat_fake, AnswersTwice) as shop:
            await shop.customer_writes("Are you open?")
            await chat_fake.settle()
            chat_fake.find_message(to="+4915")

    await chat_explore(world, depth=0)  # as written, it passes
    with pytest.raises(LookupError):
        await chat_explore(world, deviations=["duplicate"])


@pytest.mark.asyncio
async def test_a_webhook_that_overtakes_the_send_call_is_found_to_be_lost(
    chat_explore: Explorer, open_shop_of: Callable[..., Any]
) -> None:
    async def world(chat_fake: ChatFake) -> None:
        async with open_shop_of(chat_fake, RemembersTooLate) as shop:
            await shop.assistant_writes()
            await chat_fake.settle()
            assert shop.store.answers["answer-1"].status == "sent"

    await chat_explore(world, depth=0)  # as written, it passes
    with pytest.raises(AssertionError):
        await chat_explore(world, deviations=["webhooks_first"])
