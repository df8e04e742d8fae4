"""A server in the test's own loop takes webhooks, and may stop at any time.

That it asks for the balance meanwhile is shown by an example and by the page about aiohttp.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ..unit.asgi_apps import respond
from ..unit.both_frameworks import hard_limit  # noqa: F401
from .target_support import served_by_uvicorn

#: Before a test gives up on a server: half of what aiohttp waits for a connection that is open.
SECONDS = 30


def on_uvicorn():
    async def app(scope, receive, send):
        await receive()
        await respond(send)

    return served_by_uvicorn(app)


@asynccontextmanager
async def on_aiohttp():
    async def hook(request):
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hook)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


@pytest.mark.asyncio
@pytest.mark.parametrize("served", [on_uvicorn, on_aiohttp])
async def test_a_server_that_stops_in_the_test_is_not_kept_waiting(chat_fake, chat_clock, served):
    async with asyncio.timeout(SECONDS), served() as url:
        chat_fake.webhooks.connect(url)
        await chat_fake.send_text().deliver()

    assert [attempt.status_code for attempt in chat_fake.webhooks.attempts] == [200, 200]
