"""Sanic itself, which answers only where it was started.

It needs an older multidict than the one that is pinned, so it has an environment of its own.
"""

import pytest
from sanic import Sanic, response
from sanic.exceptions import SanicException

# As Sanic's own test client does: or a second app in one process can't be started.
Sanic.test_mode = True


@pytest.fixture
def app():
    app = Sanic("hooks")
    app.ctx.log = []

    @app.before_server_start
    async def start(app):
        app.ctx.log.append("started")

    @app.after_server_stop
    async def stop(app):
        app.ctx.log.append("stopped")

    @app.post("/hooks/chat")
    async def receive(request):
        app.ctx.log.append(request.json["chatMessage"]["status"])
        return response.empty()

    yield app
    Sanic.unregister_app(app)


LOG = ["started", "sent", "delivered", "delivered", "read", "stopped"]


def test_an_app_that_is_started(chat_fake, chat_clock, app):
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")

    with chat_fake.webhooks.lifespan(app):
        message = chat_fake.send_text("Sale ends today").deliver(devices=2)
        chat_clock.advance(hours=1)
        message.read()

    assert app.ctx.log == LOG
    assert [attempt.status_code for attempt in chat_fake.webhooks.attempts] == [204] * 4


@pytest.mark.asyncio
async def test_an_app_that_is_started_in_the_loop_of_the_test(chat_fake, chat_clock, app):
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")

    async with chat_fake.webhooks.lifespan(app):
        message = await chat_fake.send_text("Sale ends today").deliver(devices=2)
        await chat_clock.advance(hours=1)
        await message.read()

    assert app.ctx.log == LOG


def test_an_app_that_is_not_started_says_so(chat_fake, app):
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")

    with pytest.raises(SanicException, match="after the app has started"):
        chat_fake.send_text("Sale ends today")

    assert app.ctx.log == []
