"""A cancellation in the middle of a chain: what happened stays, and the rest never happens."""

import asyncio
import threading
from contextlib import contextmanager
from decimal import Decimal
from functools import partial

import anyio
import pytest
import trio

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.loops import running_framework

from ..unit.asgi_apps import respond
from ..unit.both_frameworks import BOTH, hard_limit  # noqa: F401


class Slow:
    """Receivers that do not respond to events of one status before they are cancelled."""

    def __init__(self, status):
        self.status = status.encode()
        self.began = 0
        self.cancelled = threading.Event()

    def _concerns(self, body):
        concerns = b'"status":"%s"' % self.status in body
        self.began += concerns
        return concerns

    async def handler(self, request):
        if self._concerns(request.body):
            await anyio.sleep(60)

    async def asgi(self, scope, receive, send):
        if self._concerns((await receive())["body"]):
            await anyio.sleep(60)
        await respond(send)

    def wsgi(self, environ, start_response):
        if self._concerns(environ["wsgi.input"].read()):
            assert self.cancelled.wait(60)  # a call in a thread goes on to its end
        start_response("200 OK", [])
        return []


async def is_cancelled(function, slow):
    """Await what the function returns, and cancel that when a slow receiver has begun."""
    if running_framework() == "trio":
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(when_begun, slow, scope.cancel)
                await function()
                nursery.cancel_scope.cancel()
        return scope.cancelled_caught
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as timeout:
            expire = partial(timeout.reschedule, loop.time())
            watching = asyncio.create_task(when_begun(slow, expire))
            await function()
            watching.cancel()
    except TimeoutError:
        await watching
        return True
    return False


async def when_begun(slow, cancel):
    while not slow.began:
        await anyio.sleep(0.001)
    cancel()
    slow.cancelled.set()


RECEIVERS = pytest.mark.parametrize("kind", ["handler", "asgi", "wsgi"])


@contextmanager
def fake_before(slow, kind):
    """A fake in async mode whose webhooks go to the slow receiver; its books are right after."""
    with ChatFake(mode="async") as fake:
        fake.webhooks.connect(**{kind: getattr(slow, kind)})
        yield fake
        balance = fake.balance
        assert Decimal(100) == balance.available + balance.held + balance.charged
        attempted = [attempt.event.id for attempt in fake.webhooks.attempts]
        assert sorted(event.id for event in fake.events) == sorted(attempted)


@BOTH
@RECEIVERS
def test_what_was_attempted_happened_and_the_rest_of_the_chain_did_not(run, kind):
    slow = Slow("delivered")

    async def main():
        with fake_before(slow, kind) as fake:
            message = fake.send_text()
            assert await is_cancelled(lambda: message.deliver().read(), slow)

            assert [event.status for event in message.events] == ["sent", "delivered"]
            assert message.status == "delivered"
            fake.assert_charged("0.05")
            fake.assert_held("0")
            assert [True, kind == "wsgi"] == [attempt.ok for attempt in fake.webhooks.attempts]
            assert slow.began == 1
            await message.read()  # and the message goes on from there
            fake.assert_statuses(message, "sent", "delivered", "read")

    run(main)


@BOTH
def test_a_cancellation_before_the_first_step_leaves_nothing(run):
    async def main():
        with fake_before(Slow("delivered"), "wsgi") as fake:
            if running_framework() == "trio":
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await fake.send_text().deliver()
            else:
                task = asyncio.ensure_future(awaited(fake.send_text().deliver()))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            # One step's change may have been made already: never half of one.
            assert len(fake.events) == len(fake.messages) <= 1
            fake.assert_charged("0")

    run(main)


async def awaited(chain):
    return await chain
