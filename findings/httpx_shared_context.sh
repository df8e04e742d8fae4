#!/usr/bin/env bash
# In a test with httpx's ASGITransport, a request sees the context variables that an earlier one has set.
#
# One would expect: each request has a context of its own, as on a server, so a variable that the app sets, such as the
# tenant, is gone with its request.
# Seen: uvicorn runs each request in a task of its own. ASGITransport awaits the app in the task of its caller, so the value
# stays: the next request has it, and so has the test. An app that forgets to set its tenant fails on a server, and passes here.
# With httpx 0.28.1, Starlette 1.10.0, uvicorn 0.54.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q httpx==0.28.1 starlette==1.10.0 uvicorn==0.54.0

cat > shown.py <<'PY'
import asyncio
import socket
from contextvars import ContextVar

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

tenant = ContextVar("tenant", default="none")


async def page(request):
    before = tenant.get()
    if name := request.query_params.get("tenant"):
        tenant.set(name)
    return PlainTextResponse(before)


app = Starlette(routes=[Route("/", page)])


async def seen(client):
    texts = [(await client.get("/", params={"tenant": "A"})).text, (await client.get("/")).text]
    return texts, tenant.get()


async def on_a_server():
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    serving = asyncio.create_task(server.serve([listener]))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
        found = await seen(client)
    server.should_exit = True
    await serving
    return found


async def in_process():
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(base_url="http://shop.example", transport=transport) as client:
        return await seen(client)


print("uvicorn:       requests saw {}, the caller sees {}".format(*asyncio.run(on_a_server())))
print("ASGITransport: requests saw {}, the caller sees {}".format(*asyncio.run(in_process())))
PY

cat > seen.txt <<'TXT'
uvicorn:       requests saw ['none', 'none'], the caller sees none
ASGITransport: requests saw ['none', 'A'], the caller sees A
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
