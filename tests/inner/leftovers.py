import asyncio

import pytest
import trio
from conftest import ok, settled


def number_of_tasks(backend):
    if backend == "asyncio":
        return len(asyncio.all_tasks())
    return len(trio.lowlevel.current_task().parent_nursery.child_tasks)


@pytest.fixture
async def no_task_is_left(anyio_backend_name):
    # Set up before the fake is, so that it looks when the fake is gone.
    before = number_of_tasks(anyio_backend_name)
    yield
    assert before == number_of_tasks(anyio_backend_name)


@pytest.mark.anyio
@pytest.mark.usefixtures("no_task_is_left")
@pytest.mark.parametrize("number", range(3))
async def test_async(number, baseline, connected, chat_clock):
    async with connected.webhooks.lifespan(ok):
        await connected.send_text().deliver().read()
        await chat_clock.advance(days=30)
    assert len(connected.webhooks.attempts) == 12
    assert all(attempt.ok for attempt in connected.webhooks.attempts)


@pytest.mark.parametrize("number", range(3))
def test_plain(number, baseline, connected, chat_clock):
    with connected.webhooks.lifespan(ok):
        connected.send_text().deliver().read()
        chat_clock.advance(days=30)
    assert len(connected.webhooks.attempts) == 12


@pytest.mark.parametrize("number", range(3))
@pytest.mark.asyncio
async def test_in_pytest_asyncio(number, baseline, connected):
    await connected.send_text().deliver().read()
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
    assert len(names) == 1, names


def test_nothing_is_left(baseline):
    assert baseline == settled(baseline)
