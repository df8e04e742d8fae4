"""What an ASGI app may answer, and what is refused."""

from __future__ import annotations

import traceback

import pytest

from pytest_chatfake.transport.client.answers import Answer

from .asgi_apps import finish, post, start
from .both_frameworks import BOTH

# What the app may answer


@pytest.mark.parametrize("part", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_any_bytes_are_a_body(part):
    async def app(scope, receive, send):
        await start(send)
        await finish(send, part)

    assert Answer(200, b"abc") == post(app)


def test_a_buffer_that_is_filled_anew_is_copied():
    async def app(scope, receive, send):
        buffer = bytearray(b"one")
        await start(send)
        await send({"type": "http.response.body", "body": buffer, "more_body": True})
        buffer[:] = b"two"
        await finish(send, buffer)

    assert Answer(200, b"onetwo") == post(app)


def test_a_body_message_may_have_no_body():
    async def app(scope, receive, send):
        await start(send, 204)
        await send({"type": "http.response.body"})

    assert Answer(204, b"") == post(app)


@pytest.mark.parametrize("part", ["text", 5, None])
def test_a_body_that_is_not_bytes_is_refused(part):
    async def app(scope, receive, send):
        await start(send)
        await finish(send, part)

    with pytest.raises(TypeError):
        post(app)


@BOTH
def test_an_app_that_returns_without_an_answer_is_refused(run):
    async def app(scope, receive, send):
        await receive()

    with pytest.raises(RuntimeError, match="the ASGI app returned without an answer"):
        post(app, run=run)


def test_an_app_that_returns_in_the_middle_of_its_answer_is_refused():
    async def app(scope, receive, send):
        await start(send)
        await send({"type": "http.response.body", "body": b"a", "more_body": True})

    with pytest.raises(RuntimeError, match="returned before its answer was complete"):
        post(app)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["body"], "sent 'http.response.body' before 'http.response.start'"),
        (["start", "start"], "sent 'http.response.start' where 'http.response.body' belongs"),
        (["start", "trailers"], "sent 'http.response.trailers' where"),
        (["start", "body", "body"], "sent 'http.response.body' after its answer was complete"),
    ],
)
def test_messages_out_of_order_are_refused(kinds, message):
    async def app(scope, receive, send):
        for kind in kinds:
            await send({"type": f"http.response.{kind}", "status": 200})

    with pytest.raises(RuntimeError, match=message):
        post(app)


@BOTH
def test_an_error_keeps_the_app_s_own_traceback(run):
    def deep_in_the_app():
        raise LookupError("no such message")

    async def app(scope, receive, send):
        deep_in_the_app()

    with pytest.raises(LookupError) as raised:
        post(app, run=run)
    assert "deep_in_the_app" == traceback.extract_tb(raised.value.__traceback__)[-1].name


def test_an_error_after_the_answer_surfaces_too():
    async def app(scope, receive, send):
        await start(send)
        await finish(send)
        raise OSError("the background job broke")

    with pytest.raises(OSError, match="the background job broke"):
        post(app)
