"""One request into a target, from plain code, in asyncio and in trio; what must not be left."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace

import pytest
import uvicorn

from pytest_chatfake.transport.client.worker import Worker

from ..unit.both_frameworks import in_asyncio, in_trio


class Interrupted(BaseException):
    """Comes from outside, as Ctrl+C does."""


EVENT = SimpleNamespace(body=b'{"id":"evt_1"}', headers={"Content-Type": "application/json"})


def in_plain_code(target, request=EVENT):
    return target.attempt(request)


def awaited_in_asyncio(target, request=EVENT):
    return in_asyncio(lambda: target.attempt_async(request))


def awaited_in_trio(target, request=EVENT):
    return in_trio(lambda: target.attempt_async(request))


THREE = pytest.mark.parametrize(
    "attempt",
    [in_plain_code, awaited_in_asyncio, awaited_in_trio],
    ids=["plain", "asyncio", "trio"],
)


@asynccontextmanager
async def served_by_uvicorn(app):
    """Serve an ASGI app in the test's own loop."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", http="h11"))
    # Handlers of signals are for a process that is a server and nothing else.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = asyncio.create_task(server._serve([listener]))
        while not server.started:
            await asyncio.sleep(0.001)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await task


@contextmanager
def closed_at_the_end(*things):
    """Close what is put into the list, twice, and see that no thread of ours is left."""
    opened = list(things)
    before = set(threading.enumerate())  # the session's listener may run
    try:
        yield opened
    finally:
        for thing in opened:
            thing.close()
            thing.close()
    # Threads that anyio or trio lends to an app are theirs, and end by themselves.
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if "chatfake" in thread.name]


@contextmanager
def working(**options):
    with closed_at_the_end(Worker("chatfake-test", **options)) as opened:
        yield opened[0]
