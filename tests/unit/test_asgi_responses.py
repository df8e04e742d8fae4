"""What an ASGI app may respond with, and what is refused."""

import pytest

from pytest_chatfake.transport.client.responses import Response

from .asgi_apps import finish, post, start
from .both_frameworks import BOTH

# What the app may respond with


@pytest.mark.parametrize("part", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_any_bytes_are_a_body(part):
    async def app(scope, receive, send):
        await start(send)
        await finish(send, part)

    assert Response(200, b"abc") == post(app)


def test_a_buffer_that_is_filled_anew_is_copied():
    async def app(scope, receive, send):
        buffer = bytearray(b"one")
        await start(send)
        await send({"type": "http.response.body", "body": buffer, "more_body": True})
        buffer[:] = b"two"
        await finish(send, buffer)

    assert Response(200, b"onetwo") == post(app)


@pytest.mark.parametrize("part", ["text", 5, None])
def test_a_body_that_is_not_bytes_is_refused(part):
    async def app(scope, receive, send):
        await start(send)
        await finish(send, part)

    with pytest.raises(TypeError):
        post(app)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([], "it returned before its response was complete"),
        (["start", "more"], "it returned before its response was complete"),
        (["body"], "expected 'http.response.start', got 'http.response.body'"),
        (["start", "start"], "expected 'http.response.body', got 'http.response.start'"),
        (["start", "trailers"], "expected 'http.response.body', got 'http.response.trailers'"),
        (["start", "body", "body"], "sent 'http.response.body' after its response was complete"),
    ],
)
@BOTH
def test_messages_that_are_missing_or_out_of_order_are_refused(run, kinds, message):
    async def app(scope, receive, send):
        for kind in kinds:
            more = kind == "more"
            name = "http.response.body" if more else f"http.response.{kind}"
            await send({"type": name, "status": 200, "more_body": more})

    with pytest.raises(RuntimeError, match=f"ASGI app: {message}"):
        post(app, run=run)


def test_an_app_s_error_after_its_response_surfaces():
    async def app(scope, receive, send):
        await start(send)
        await finish(send)
        raise OSError("the background job broke")

    with pytest.raises(OSError, match="the background job broke"):
        post(app)


def test_an_error_that_has_to_do_with_no_lifespan_names_none():
    async def app(scope, receive, send):
        raise AttributeError("'Order' object has no attribute 'state'")

    with pytest.raises(AttributeError) as caught:
        post(app)

    assert not hasattr(caught.value, "__notes__")
