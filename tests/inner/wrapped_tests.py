import asyncio
import functools

import pytest


def in_a_loop(test):
    @functools.wraps(test)
    def wrapper(*args, **kwargs):
        asyncio.run(test(*args, **kwargs))

    return wrapper


@in_a_loop
async def test_without_a_word(chat_fake):
    await chat_fake.send_text()


@pytest.mark.chat_fake(mode="async")
@in_a_loop
async def test_by_the_marker(chat_fake):
    message = await chat_fake.send_text().deliver()
    assert message.status == "delivered"


class TestByTheFixture:
    @pytest.fixture
    def chat_fake_mode(self):
        return "async"

    @in_a_loop
    async def test_it(self, chat_fake):
        message = await chat_fake.send_text().deliver()
        assert message.status == "delivered"
