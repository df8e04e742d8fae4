"""How to post into an ASGI app, and the two messages that every app sends."""

from __future__ import annotations

from pytest_chatfake.transport.client.asgi import AsgiDriver

from .both_frameworks import in_asyncio

JSON = {"Content-Type": "application/json"}


def post(app, body=b"{}", headers=JSON, path="/hooks/chat", *, run=in_asyncio, state=None):
    return run(lambda: AsgiDriver(app, path).post(body, headers, state))


async def start(send, status=200):
    await send({"type": "http.response.start", "status": status, "headers": []})


async def finish(send, body=b""):
    await send({"type": "http.response.body", "body": body})
