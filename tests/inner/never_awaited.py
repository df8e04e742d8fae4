import asyncio

import pytest


@pytest.fixture
def chat_fake_mode():
    return "async"


def test_forgotten(chat_fake):
    chat_fake.send_text("x").deliver()


def test_forgotten_and_failed(chat_fake):
    chat_fake.send_text("x")
    assert 1 == 2


def test_clean(chat_fake):
    async def scenario():
        message = await chat_fake.send_text("x").deliver()
        assert message.status == "delivered"

    asyncio.run(scenario())


def test_skipped(chat_fake):
    chat_fake.send_text("x")
    pytest.skip("not today")
