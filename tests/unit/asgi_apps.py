"""How to post into an ASGI app, and the two messages that every app sends."""

from __future__ import annotations

from types import SimpleNamespace

from pytest_chatfake.transport.client.asgi import AsgiTarget

from .both_frameworks import in_asyncio

JSON = {"Content-Type": "application/json"}
NOTHING = SimpleNamespace(body=b"", headers={})


def target_of(app, path="/", state=None):
    """The app as a target for coroutines, its lifespan running if there is a state."""
    states = {} if state is None else {id(app): state}
    return AsgiTarget(app, path=path, portal=SimpleNamespace(app_states=states))


def post(app, body=b"{}", headers=JSON, path="/hooks/chat", *, run=in_asyncio, state=None):
    request = SimpleNamespace(body=body, headers=headers)
    return run(lambda: target_of(app, path, state).attempt_async(request))


async def start(send, status=200):
    await send({"type": "http.response.start", "status": status, "headers": []})


async def finish(send, body=b""):
    await send({"type": "http.response.body", "body": body})


async def respond(send, status=200, body=b""):
    await start(send, status)
    await finish(send, body)
