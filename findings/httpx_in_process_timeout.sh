#!/usr/bin/env bash
# In process, httpx never times out.
#
# One would expect: a client with timeout=0.1 gives up on an app that takes half a second, wherever the app runs, so a test can
# let the app be slow to see what its caller does.
# Seen: timeouts belong to the network's transport. With ASGITransport, WSGITransport and MockTransport, the client waits as long
# as the app takes, and gets its response, so a test of a slow app passes without the code for a time-out having run.
# With httpx 0.28.1, Starlette 1.10.0, Flask 3.1.3, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q httpx==0.28.1 starlette==1.10.0 flask==3.1.3

cat > shown.py <<'PY'
import asyncio
import threading
import time

import flask
import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from werkzeug.serving import make_server

SLOW, TIMEOUT = 0.5, 0.1


async def in_starlette(request):
    await asyncio.sleep(SLOW)
    return PlainTextResponse("done")


def in_flask():
    time.sleep(SLOW)
    return "done"


def in_a_mock(request):
    time.sleep(SLOW)
    return httpx.Response(200)


def outcome(call):
    try:
        return call().status_code
    except httpx.TimeoutException as error:
        return type(error).__name__


def called(base_url="http://shop.example", **given):
    with httpx.Client(base_url=base_url, timeout=TIMEOUT, **given) as client:
        return client.get("/")


async def called_async():
    app = Starlette(routes=[Route("/", in_starlette)])
    async with httpx.AsyncClient(
        base_url="http://shop.example", timeout=TIMEOUT, transport=httpx.ASGITransport(app)
    ) as client:
        return await client.get("/")


shop = flask.Flask("shop")
shop.get("/")(in_flask)
server = make_server("127.0.0.1", 0, shop, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()

print("a socket:     ", outcome(lambda: called(f"http://127.0.0.1:{server.port}")))
print("WSGITransport:", outcome(lambda: called(transport=httpx.WSGITransport(shop))))
print("ASGITransport:", outcome(lambda: asyncio.run(called_async())))
print("MockTransport:", outcome(lambda: called(transport=httpx.MockTransport(in_a_mock))))
PY

cat > seen.txt <<'TXT'
a socket:      ReadTimeout
WSGITransport: 200
ASGITransport: 200
MockTransport: 200
TXT
venv/bin/python shown.py 2> errors.txt | tee now.txt
diff seen.txt now.txt
