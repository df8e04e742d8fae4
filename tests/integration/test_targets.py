"""Each kind of target, from plain code, in asyncio and in trio: one request, one response."""

from __future__ import annotations

import asyncio
import functools
import threading
from types import SimpleNamespace

import flask
import pytest
import trio

from pytest_chatfake.transport.client.asgi import AsgiTarget
from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.targets import UrlTarget
from pytest_chatfake.transport.client.wsgi import WsgiTarget

from ..unit.asgi_apps import respond
from ..unit.both_frameworks import SECONDS, hard_limit, in_asyncio, in_trio  # noqa: F401
from .raw_server import keeps_alive, serving
from .target_support import EVENT, THREE, in_plain_code, served_by_uvicorn

# Real apps


@pytest.fixture
def flask_app():
    app = flask.Flask(__name__)
    app.thread = None

    @app.post("/hooks/chat")
    def hook():
        app.thread = threading.get_ident()
        return flask.request.get_json()["id"], 202

    app.testing = True
    return app


@THREE
def test_a_flask_app_responds(attempt, closing, flask_app):
    target = closing(WsgiTarget(flask_app, path="/hooks/chat"))

    assert [Response(202, b"evt_1")] * 3 == [attempt(target) for _ in range(3)]
    here = attempt is in_plain_code
    assert here == (threading.get_ident() == flask_app.thread)


def test_in_a_coroutine_an_app_runs_in_the_test_s_own_loop_and_task(closing, portal):
    async def app(scope, receive, send):
        seen.append((asyncio.get_running_loop(), asyncio.current_task()))
        await respond(send)

    async def main():
        await closing(AsgiTarget(app, path="/", portal=portal)).attempt_async(EVENT)
        return asyncio.get_running_loop(), asyncio.current_task()

    seen = []
    assert [in_asyncio(main)] == seen


# URLs


@THREE
def test_a_url_responds(attempt, closing):
    with serving(keeps_alive) as server:
        target = closing(UrlTarget(server.url, timeout=SECONDS))

        assert [Response(200, b"ok")] * 3 == [attempt(target) for _ in range(3)]
        assert [EVENT.body] * 3 == [post.body for post in server.posts]
        assert len(server.connections) == 1
        target.close()


def test_a_server_in_the_test_s_own_trio_loop_can_respond(closing):
    async def serve(stream):
        async with stream:
            while await stream.receive_some():
                await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def main():
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(
                functools.partial(trio.serve_tcp, serve, 0, host="127.0.0.1")
            )
            port = listeners[0].socket.getsockname()[1]
            target = closing(UrlTarget(f"http://127.0.0.1:{port}/", timeout=SECONDS))
            response = await target.attempt_async(EVENT)
            nursery.cancel_scope.cancel()
        return response

    assert Response(200) == in_trio(main)


# As a real server


def test_the_scope_is_the_one_that_uvicorn_gives(portal, closing):
    scopes = []

    async def app(scope, receive, send):
        scopes.append(dict(scope))
        await receive()
        await respond(send)

    path = "/hooks/caf%C3%A9?a=1"
    request = SimpleNamespace(body=b"{}", headers={"Host": "testserver", "X-Tag": "A"})

    async def main():
        async with served_by_uvicorn(app) as url:
            over_the_wire = closing(UrlTarget(url + path, timeout=SECONDS))
            assert (await over_the_wire.attempt_async(request)).status == 200

    in_asyncio(main)
    portal.app_states[id(app)] = {}
    closing(AsgiTarget(app, path=path, portal=portal)).attempt(request)

    for scope in scopes:
        for where in ("client", "server"):
            scope[where] = [type(part) for part in scope[where]]
    theirs, ours = scopes
    assert theirs == ours
    assert ours["client"] == ours["server"] == [str, int]
