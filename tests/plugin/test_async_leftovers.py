"""Tests in a row, each in a loop of its own: no task, thread, socket or loop outlives its test."""

from ..forked_pytest import run_pytest

CONFTEST = """
import asyncio
import gc
import os
import threading
import time

import pytest

from pytest_chatfake import ChatFake


def what_is_left():
    # Threads, sockets and open loops of this process.
    gc.collect()
    names = [thread.name for thread in threading.enumerate()]
    # Of the listener, one thread waits for clients, or two; each has an eventpoll of its own.
    listening = names.count("chatfake-listener")
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            pass
    return {
        "listens": 1 <= listening <= 2,
        # Trio keeps an idle thread for ten seconds: anyio's runner has used it. The watch ends
        # by itself, after a while.
        "threads": sorted(
            name
            for name in names
            if not name.startswith(("Trio thread", "chatfake-listener", "chatfake-watch"))
        ),
        "sockets": sum(link.startswith("socket:") for link in links),
        "pipes": sum(link.startswith("pipe:") for link in links),
        "eventpolls": sum("eventpoll" in link for link in links) - listening,
        "loops": sum(
            isinstance(thing, asyncio.AbstractEventLoop) and not thing.is_closed()
            for thing in gc.get_objects()
        ),
    }


def settled(expected, patience=60):
    # What is left, once it is what was expected, or after so many seconds.
    deadline = time.monotonic() + patience
    while (found := what_is_left()) != expected and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


@pytest.fixture(scope="session")
def baseline(chat_fake_url):
    # What is there while no test runs: the listener of the session.
    return what_is_left()


def pytest_unconfigure():
    # The listener goes with the session.
    left = what_is_left()
    assert not left["listens"]
    assert [] == [name for name in left["threads"] if "chatfake" in name]


async def ok(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


def ok_too(environ, start_response):
    start_response("200 OK", [])
    return []


@pytest.fixture(scope="session")
def other_service():
    # A receiver behind a URL: the listener of another fake.
    with ChatFake() as other:
        @other.route("/hooks/chat")
        def hook(request):
            return {}

        yield other


@pytest.fixture
def connected(chat_fake, other_service):
    # A fake with an endpoint of each kind.
    async def handler(request):
        return 200

    chat_fake.webhooks.connect(
        f"{other_service.base_url}/hooks/chat", headers={"X-API-Key": other_service.api_key}
    )
    chat_fake.webhooks.connect(wsgi=ok_too)
    chat_fake.webhooks.connect(asgi=ok)
    chat_fake.webhooks.connect(handler=handler)
    return chat_fake
"""

TESTS = """
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
    assert 12 == len(connected.webhooks.attempts)
    assert all(attempt.ok for attempt in connected.webhooks.attempts)


@pytest.mark.parametrize("number", range(3))
def test_plain(number, baseline, connected, chat_clock):
    with connected.webhooks.lifespan(ok):
        connected.send_text().deliver().read()
        chat_clock.advance(days=30)
    assert 12 == len(connected.webhooks.attempts)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.asyncio
async def test_in_pytest_asyncio(number, baseline, connected):
    await connected.send_text().deliver().read()
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
    assert 1 == len(names), names


def test_nothing_is_left(baseline):
    assert baseline == settled(baseline)
"""


def test_tests_in_a_row_leave_nothing(pytester):
    pytester.makeini(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n"
        "pythonpath = ."
    )
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = run_pytest(pytester.path, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=13)
    assert result.ret == 0
