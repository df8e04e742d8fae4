"""The assistant in every world; and two mistaken ones, which an exploration finds by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from assistant_fastapi.app import Assistant
from assistant_fastapi.mistakes import AnswersTwice, RemembersTooLate

from pytest_chatfake import ChatFake, Explorer

pytestmark = pytest.mark.asyncio


@pytest.fixture
def world_of(open_shop_of: Callable[..., Any]) -> Callable[[type[Assistant]], Any]:
    """A customer writes, gets one answer, and reads it."""

    def world_of(assistant: type[Assistant]) -> Callable[[ChatFake], Awaitable[None]]:
        async def world(chat_fake: ChatFake) -> None:
            async with open_shop_of(chat_fake, assistant) as shop:
                await shop.customer_writes("Are you open?")
                await chat_fake.settle()
                await chat_fake.find_message(to="+4915").deliver().read()
                await chat_fake.settle()
                assert shop.store.answers["answer-1"].status == "read"

        return world

    return world_of


async def test_one_answer_is_given_and_remembered_whatever_comes(
    chat_explore: Explorer, world_of: Callable[[type[Assistant]], Any]
) -> None:
    explored = await chat_explore(world_of(Assistant), depth=1)

    assert explored.complete
    assert explored.worlds > 10


async def test_an_answer_that_is_given_twice_is_found(
    chat_explore: Explorer, world_of: Callable[[type[Assistant]], Any]
) -> None:
    with pytest.raises(LookupError, match=r"`chat\.inbound_message\.received` was attempted twice"):
        await chat_explore(world_of(AnswersTwice), depth=1)


@pytest.mark.parametrize("assistant", [Assistant, RemembersTooLate])
async def test_a_webhook_that_overtakes_the_send_call_is_found_to_be_lost(
    chat_explore: Explorer, open_shop_of: Callable[..., Any], assistant: type[Assistant]
) -> None:
    async def world(chat_fake: ChatFake) -> None:
        async with open_shop_of(chat_fake, assistant) as shop:
            await shop.assistant_writes()
            await chat_fake.settle()
            assert shop.store.answers["answer-1"].status == "sent"

    if assistant is Assistant:
        await chat_explore(world)
        return
    with pytest.raises(AssertionError, match="webhooks of the 1st POST /v2/messages came before"):
        await chat_explore(world)
