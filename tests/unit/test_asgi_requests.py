"""What an ASGI app gets: scope, body, and the moment when nobody listens any more."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar

import anyio
import anyio.lowlevel
import pytest

from pytest_chatfake.transport.client.responses import Response

from .asgi_apps import NOTHING, finish, post, respond, start, target_of
from .both_frameworks import BOTH, in_asyncio


async def raise_later(_):
    await anyio.sleep(0)
    raise LookupError


class App:
    """Responds, and remembers what it was called with."""

    def __init__(self):
        self.scopes = []
        self.messages = []

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        self.messages.append(await receive())
        await respond(send, 200, b"fine")


# What the app gets


TENANT = ContextVar("tenant", default="none")


@BOTH
@pytest.mark.parametrize("ends", [respond, raise_later], ids=["it responds", "it raises"])
def test_what_a_request_sets_in_its_context_is_gone_with_it(run, ends):
    seen = []

    async def app(scope, receive, send):
        await anyio.sleep(0)
        seen.append(TENANT.get())
        TENANT.set("A")
        await ends(send)

    async def main():
        TENANT.set("the test's")
        for _ in range(2):
            with suppress(LookupError):
                await target_of(app).attempt_async(NOTHING)
            seen.append(TENANT.get())

    run(main)
    assert seen == ["the test's"] * 4


@BOTH
def test_the_body_arrives_in_one_message_and_the_response_returns(run):
    app = App()

    assert Response(200, b"fine") == post(app, b'{"id":"evt_1"}', run=run)
    assert app.messages == [{"type": "http.request", "body": b'{"id":"evt_1"}', "more_body": False}]


def test_the_server_and_the_host_of_a_scope_are_made_up():
    """The rest is held against a server's, in ``tests/integration/test_targets.py``."""
    app = App()
    post(app)

    (scope,) = app.scopes
    assert (scope["server"], scope["headers"][0]) == (("testserver", 80), (b"host", b"testserver"))


def test_what_an_app_writes_into_its_scope_is_not_seen_by_the_next_request():
    seen = []

    async def app(scope, receive, send):
        seen.append(("user" in scope, "extra" in scope["asgi"], len(scope["headers"])))
        scope["user"] = scope["asgi"]["extra"] = "ada"
        scope["headers"].append((b"x", b"y"))
        await respond(send)

    target = target_of(app)
    in_asyncio(lambda: target.attempt_async(NOTHING))
    in_asyncio(lambda: target.attempt_async(NOTHING))

    assert seen == [(False, False, 2)] * 2


def test_each_request_has_its_own_copy_of_the_state():
    async def app(scope, receive, send):
        scope["state"]["added"] = True
        scope["state"]["shared"].append("request")
        await respond(send)

    state = {"shared": []}
    post(app, state=state)

    assert state == {"shared": ["request"]}


# What happens after the body


@BOTH
@pytest.mark.parametrize("waiting", [0, 2])
def test_after_the_body_who_waits_or_comes_later_is_told_of_the_end(run, waiting):
    order = []

    async def app(scope, receive, send):
        await receive()

        async def watch():
            order.append((await receive())["type"])

        async def response():
            await start(send)
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            await anyio.lowlevel.checkpoint()
            order.append("half")
            await finish(send, b"b")
            order.append("complete")

        async with anyio.create_task_group() as group:
            for _ in range(waiting):
                group.start_soon(watch)
            group.start_soon(response)
        order.append((await receive())["type"])

    assert Response(200, b"ab") == post(app, run=run)
    assert order == ["half", "complete", *["http.disconnect"] * (waiting + 1)]


def test_a_task_that_waits_for_a_disconnect_is_told_when_the_app_returns():
    told = []

    async def main():
        async def app(scope, receive, send):
            await receive()

            async def watch():
                told.append((await receive())["type"])

            tasks.append(asyncio.create_task(watch()))
            await asyncio.sleep(0)
            raise LookupError("before any response")

        tasks = []
        with pytest.raises(LookupError):
            await target_of(app).attempt_async(NOTHING)
        await tasks[0]

    in_asyncio(main)
    assert told == ["http.disconnect"]
