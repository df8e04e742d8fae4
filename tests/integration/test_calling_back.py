"""Apps that ask the API in the middle of an attempt: no deadlock, and everything in its turn."""

import threading

import anyio
import pytest
import requests
from anyio import to_thread
from flask import Flask

from pytest_chatfake import ChatFake, UndeliveredWebhooks
from pytest_chatfake.fake.inside import Inside
from pytest_chatfake.transport.client.loops import (
    bridge_to_running_loop,
    new_event,
    running_framework,
)

from ..unit.both_frameworks import BOTH, hard_limit  # noqa: F401
from ..unit.wsgi_apps import served
from .api_support import SECONDS, balance


def add_send_endpoint(fake, *, webhooks_first):
    @fake.route("/v2/messages", webhooks_first=webhooks_first)
    def send(_):
        return {"id": fake.send_text().id}


def call_send_endpoint(fake):
    url, key = f"{fake.base_url}/v2/messages", {"X-API-Key": fake.api_key}
    return requests.post(url, headers=key, timeout=SECONDS).status_code


@pytest.mark.parametrize("first", [True, False], ids=["webhook first", "response first"])
@pytest.mark.parametrize("threaded", [True, False], ids=["threaded", "single-threaded"])
def test_the_race_of_the_send_call(fake, threaded, first):
    """An app replies to a visitor by sending a message, and gets its webhook before, or after."""
    order = []
    app = Flask("shop")
    add_send_endpoint(fake, webhooks_first=first)

    @app.post("/hooks")
    def hook():
        order.append("webhook")
        return ""

    with served(app, threaded=threaded) as url:
        fake.webhooks.connect(f"{url}/hooks")
        order.append(f"response {call_send_endpoint(fake)}")
        fake.settle()

    assert (["webhook", "response 200"] if first else ["response 200", "webhook"]) == order


@pytest.mark.parametrize(("sends", "response"), [(True, 200), (False, "99.95")])
def test_an_app_that_holds_a_lock_while_it_calls_gets_its_response(sends, response):
    """Its webhook waits for the lock, so the response has to come first, after the timeout."""
    lock, order = threading.Lock(), []

    def app(environ, start_response):
        with lock:
            order.append("webhook")
        start_response("204 No Content", [])
        return []

    with ChatFake(timeout=0.2, strict=False) as fake:
        fake.webhooks.connect(wsgi=app)
        if sends:
            add_send_endpoint(fake, webhooks_first=True)
        else:
            fake.webhooks.during_call()
            fake.send_text()
        with lock:
            order.append(call_send_endpoint(fake) if sends else balance(fake))
        with pytest.raises(TimeoutError, match="does the app hold a lock or a transaction"):
            fake.settle()
        late = [attempt.late for attempt in fake.webhooks.attempts]

    assert order == [response, "webhook"]
    assert late == [204]


def test_an_error_of_an_app_that_held_a_lock_is_named_after_the_timeout():
    lock = threading.Lock()

    def app(*_):
        with lock:
            return 1 / 0

    with ChatFake(timeout=0.2, strict=False) as fake:
        fake.webhooks.connect(wsgi=app)
        add_send_endpoint(fake, webhooks_first=True)
        with lock:
            call_send_endpoint(fake)
        for thread in threading.enumerate():
            if thread.name == "chatfake-first":
                thread.join(SECONDS)
        with pytest.raises(TimeoutError) as raised:
            fake.settle()

    assert [note.partition(",")[0] for note in raised.value.__notes__] == [
        "as well: ZeroDivisionError: division by zero"
    ]


@BOTH
def test_what_takes_too_long_in_the_loop_of_a_test_ends_there(run):
    async def main():
        ended, bridge = new_event(), bridge_to_running_loop()

        async def hang():
            try:
                await new_event().wait()
            finally:
                ended.set()

        assert await to_thread.run_sync(bridge.run, hang, 0.01) == "cancelled"
        await ended.wait()

    run(main)


@BOTH
def test_each_webhook_before_a_response_has_the_whole_timeout(run):
    handled = []

    async def app(_):
        await anyio.sleep(0.3)
        handled.append("webhook")

    async def main():
        with ChatFake(mode="async", timeout=1) as fake:
            for _ in range(4):
                fake.webhooks.connect(handler=app)
            add_send_endpoint(fake, webhooks_first=True)
            await fake.settle()
            handled.append(f"response {await to_thread.run_sync(call_send_endpoint, fake)}")
            await fake.settle()

    run(main)
    assert handled == ["webhook"] * 4 + ["response 200"]


@BOTH
def test_in_a_loop_webhooks_may_win_the_race_too(run):
    """The request is handled in a thread, and the test's own loop makes the attempt meanwhile."""
    order = []

    async def main():
        with ChatFake(mode="async", timeout=SECONDS) as fake:

            async def app(_):
                order.append(f"webhook in {running_framework()}")

            fake.webhooks.connect(handler=app)
            add_send_endpoint(fake, webhooks_first=True)
            await fake.settle()
            order.append(f"response {await to_thread.run_sync(call_send_endpoint, fake)}")
            assert [f"webhook in {running_framework()}", "response 200"] == order

    run(main)


@BOTH
def test_a_call_that_blocks_the_loop_gets_a_response_first(run):
    seen = []

    async def main():
        with ChatFake(mode="async", timeout=SECONDS) as fake:
            fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
            add_send_endpoint(fake, webhooks_first=True)
            await fake.settle()
            assert call_send_endpoint(fake) == 200
            assert seen == []
            why = r"\(a blocking call stopped the test's loop, so webhooks_first could"
            with pytest.raises(UndeliveredWebhooks, match=why):
                Inside(fake).checks.run()

            await fake.settle()
            assert seen == ["sent"]
            await fake.reset()
            assert not Inside(fake).is_blocked

    run(main)


def test_a_call_before_any_loop_runs_gets_a_response_first():
    seen = []

    with pytest.raises(UndeliveredWebhooks, match="1 event still queued"):
        with ChatFake(mode="async", timeout=SECONDS) as fake:
            fake.webhooks.connect(handler=seen.append)
            add_send_endpoint(fake, webhooks_first=True)
            assert call_send_endpoint(fake) == 200

    assert seen == []
