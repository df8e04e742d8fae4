"""An app that sleeps with the fake's clock, in whatever task or thread of its own."""

import asyncio
import threading

import anyio
import pytest

from .asgi_apps import respond
from .both_frameworks import BOTH, hard_limit, in_asyncio  # noqa: F401
from .fakes import at, frozen_fake


class App:
    """An ASGI app that hands its webhooks to a task that it started before; that one sleeps."""

    def __init__(self, fake):
        self.sleep = fake.clock.sleep
        self.handled = []
        self.jobs = asyncio.Queue()

    async def work(self):
        while True:
            await self.jobs.get()
            await self.sleep(2)
            self.jobs.task_done()

    async def __call__(self, scope, receive, send):
        await receive()
        if scope["type"] == "lifespan":
            worker = asyncio.create_task(self.work())
            await send({"type": "lifespan.startup.complete"})
            await receive()
            worker.cancel()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await self.handle()
            await respond(send)

    async def handle(self):
        self.handled.append(1)
        self.jobs.put_nowait(1)
        await self.jobs.join()


class QuickApp(App):
    """Responds at once."""

    async def handle(self):
        self.handled.append(1)


@BOTH
def test_a_handler_may_wait_for_a_task_that_sleeps(run):
    async def main():
        send, receive = anyio.create_memory_object_stream(1)
        rested = anyio.Event()

        async def work():
            await receive.receive()
            await fake.clock.sleep(2)
            rested.set()

        async def handle(_):
            await send.send(1)
            await rested.wait()

        fake.webhooks.connect(handler=handle)
        async with anyio.create_task_group() as tasks, send, receive:
            tasks.start_soon(work)
            await fake.send_text()
        return fake.clock.now

    with frozen_fake(mode="async") as fake:
        assert run(main) == at(seconds=2)


def test_a_sync_test_s_app_may_wait_for_a_task_that_sleeps():
    with frozen_fake() as fake:
        app = App(fake)
        with fake.webhooks.lifespan(app):
            fake.webhooks.connect(asgi=app)
            fake.send_text()
            assert fake.clock.now == at(seconds=2)


def test_a_sync_test_s_app_may_await_its_sleep():
    with frozen_fake() as fake:

        async def handle(_):
            await fake.clock.sleep(2)

        fake.webhooks.connect(handler=handle)
        fake.send_text()
        assert fake.clock.now == at(seconds=2)


def test_what_is_due_while_a_task_sleeps_is_posted_after_it():
    with frozen_fake() as fake:
        app = QuickApp(fake)
        with fake.webhooks.lifespan(app):
            fake.webhooks.connect(asgi=app)
            message = fake.send_text()
            message.after(1).deliver()
            app.jobs.put_nowait(1)
            fake.wait_until(lambda: fake.clock.now == at(seconds=2))
            fake.settle()
        assert (message.status, len(app.handled)) == ("delivered", 2)


def test_a_task_of_a_sync_test_s_app_may_call_a_verb():
    with frozen_fake() as fake:
        app = QuickApp(fake)

        async def send(_):
            fake.send_text()

        app.sleep = send
        with fake.webhooks.lifespan(app):
            fake.webhooks.connect(asgi=app)
            app.jobs.put_nowait(1)
            fake.wait_until(lambda: app.handled)
        assert [attempt.ok for attempt in fake.webhooks.attempts] == [True]


@BOTH
def test_a_sleep_lets_other_tasks_run(run):
    async def main():
        ran = []

        async def other():
            ran.append(1)

        async def poll(_):
            for _ in range(1000):
                if ran:
                    return
                await fake.clock.sleep(0)

        fake.webhooks.connect(handler=poll)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await fake.send_text()
            assert ran == [1]

    with frozen_fake(mode="async") as fake:
        run(main)


def test_the_fake_itself_never_sleeps_with_its_clock(monkeypatch):
    def app(_, start_response):
        start_response("200 OK", [])
        return [b""]

    async def main():
        monkeypatch.setattr(asyncio, "sleep", fake.clock.sleep)
        fake.webhooks.connect(wsgi=app)
        await fake.send_text().deliver()
        return fake.clock.now

    with frozen_fake(mode="async") as fake:
        assert in_asyncio(main) == at()


def test_a_thread_of_an_async_test_s_app_sleeps_at_once():
    async def main():
        await fake.send_text()
        thread = threading.Thread(target=fake.clock.sleep, args=(2,))
        thread.start()
        await asyncio.to_thread(thread.join)
        return fake.clock.now

    with frozen_fake(mode="async") as fake:
        assert in_asyncio(main) == at(seconds=2)


@pytest.mark.asyncio
async def test_a_sleep_that_nobody_awaits_moves_nothing(fake):
    sleep = fake.clock.sleep(2)
    assert "steps to await" in repr(sleep)
    await sleep
    assert fake.clock.now == at(seconds=2)
