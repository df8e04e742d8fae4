#!/usr/bin/env bash
# After a stored response has expired, its idempotency key is refused for ever, as "already pending".
#
# One would expect: the key and its response expire together, and a repeat after that is a new request.
# Seen: the expiry drops the response alone. The key stays among those that are at work, so a repeat gets 409, then and later.
# The expiry is short here, and in real time; the default is a day.
# With asgi-idempotency-header 0.2.0, starlette 1.10.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q asgi-idempotency-header==0.2.0 starlette==1.10.0 fastapi==0.165.0 redis==8.1.0 httpx==0.28.1

cat > shown.py <<'PY'
import asyncio

import httpx
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import MemoryBackend
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

ran = []


async def pay(request):
    ran.append(request)
    return JSONResponse({"payment": len(ran)})


app = Starlette(routes=[Route("/payments", pay, methods=["POST"])])
app = IdempotencyHeaderMiddleware(app, backend=MemoryBackend(expiry=1))


async def main():
    transport = httpx.ASGITransport(app)
    key = {"Idempotency-Key": "33333333-3333-4333-8333-333333333333"}
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
        for wait in (0, 0, 1.5, 1.5):
            await asyncio.sleep(wait)
            response = await client.post("/payments", headers=key)
            print(response.status_code, "ran", len(ran))


asyncio.run(main())
PY

cat > seen.txt <<'TXT'
200 ran 1
200 ran 1
409 ran 1
409 ran 1
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
