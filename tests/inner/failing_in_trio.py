import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "trio"


async def test_advance(chat_fake, chat_clock):
    chat_clock.advance(hours=24)


async def test_settle(chat_fake):
    chat_fake.settle()


async def test_top_up(chat_fake):
    chat_fake.top_up(5)


async def test_reset(chat_fake):
    chat_fake.reset()


@pytest.fixture
def sent_before(chat_fake):
    chat_fake.send_text()


async def test_prepared(sent_before):
    pass
