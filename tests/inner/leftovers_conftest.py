import asyncio
import contextlib
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
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
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


def settled(expected):
    # What is left, once it is what was expected, or after a minute.
    deadline = time.monotonic() + 60
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
    assert [name for name in left["threads"] if "chatfake" in name] == []


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
