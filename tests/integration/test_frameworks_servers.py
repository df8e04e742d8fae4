"""A server in the test's own loop takes webhooks, and asks for the balance meanwhile."""

import asyncio
import socket
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import httpx
import pytest
import uvicorn
from aiohttp import web
from aiohttp.test_utils import TestServer
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from ..unit.both_frameworks import hard_limit  # noqa: F401

#: Before a test gives up on a server: half of what aiohttp waits for a connection that is open.
SECONDS = 30

pytestmark = pytest.mark.asyncio


class Seen(list):
    """What a server saw: the status, the balance that it asked for, and the time of day."""

    def add(self, event, balance):
        now = datetime.now(UTC).strftime("%d %H:%M")
        self.append((event["chatMessage"]["status"], balance["amount"], now))


@asynccontextmanager
async def on_uvicorn(chat_fake, seen):
    async def hook(request):
        async with httpx.AsyncClient(verify=False, timeout=5) as client:
            answer = await client.get(
                f"{chat_fake.base_url}/v2/balance", headers={"X-API-Key": chat_fake.api_key}
            )
        seen.add(await request.json(), answer.json())
        return Response()

    app = Starlette(routes=[Route("/hooks/chat", hook, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    # Handlers of signals are for a process that is a server and nothing else.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = asyncio.create_task(server._serve([listener]))
        while not server.started:
            await asyncio.sleep(0.001)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hooks/chat"
        server.should_exit = True
        await task


@asynccontextmanager
async def on_aiohttp(chat_fake, seen):
    async def hook(request):
        async with (
            aiohttp.ClientSession(chat_fake.base_url) as session,
            session.get("/v2/balance", headers={"X-API-Key": chat_fake.api_key}) as answer,
        ):
            seen.add(await request.json(), await answer.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/hooks/chat", hook)
    async with TestServer(app) as server:
        yield str(server.make_url("/hooks/chat"))


SERVERS = pytest.mark.parametrize("served", [on_uvicorn, on_aiohttp], ids=["uvicorn", "aiohttp"])


@SERVERS
async def test_it_sees_the_balance_of_the_moment_while_time_stands_still(
    chat_fake, chat_clock, served
):
    seen = Seen()
    async with served(chat_fake, seen) as url:
        chat_fake.webhooks.connect(url)
        await chat_fake.send_text().deliver(devices=2).read()

    assert seen == [
        ("sent", 99.95, "01 12:00"),
        ("delivered", 99.95, "01 12:00"),
        ("delivered", 99.95, "01 12:00"),
        ("read", 99.95, "01 12:00"),
    ]
    assert all(attempt.ok for attempt in chat_fake.webhooks.attempts)


@SERVERS
async def test_a_server_that_stops_in_the_test_is_not_kept_waiting(chat_fake, chat_clock, served):
    async with asyncio.timeout(SECONDS), served(chat_fake, Seen()) as url:
        chat_fake.webhooks.connect(url)
        await chat_fake.send_text()
