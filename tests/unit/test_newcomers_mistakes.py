"""Mistakes that a newcomer makes, and what the fake says to them."""

import asyncio

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake


def test_a_queue_that_was_never_entered_holds_nothing_back(fake):
    queue = fake.webhooks.paused()

    with pytest.raises(RuntimeError, match=r"write `with webhooks\.paused"):
        queue.release()


def test_of_two_routes_for_the_same_request_the_last_one_answers(fake):
    @fake.route("/v2/messages", methods=["POST", "PUT"])
    def first(_):
        return {"route": 1}

    @fake.route("/v2/messages")
    def second(_):
        return {"route": 2}, 503

    client = Client(fake.wsgi_app)
    headers = {"X-API-Key": fake.api_key}

    assert 503 == client.post("/v2/messages", headers=headers).status_code
    assert {"route": 1} == client.put("/v2/messages", headers=headers).json


def test_a_lifespan_is_refused_in_the_other_mode_s_words():
    async def app(scope, receive, send):
        raise LookupError("never called")

    async def wrong(fake):
        async with fake.webhooks.lifespan(app):
            pass

    with ChatFake() as fake, pytest.raises(TypeError, match="in sync mode: write `with`, not"):
        asyncio.run(wrong(fake))
    with (
        ChatFake(mode="async") as fake,
        pytest.raises(TypeError, match="in async mode: write `async with`, not"),
        fake.webhooks.lifespan(app),
    ):
        pass
