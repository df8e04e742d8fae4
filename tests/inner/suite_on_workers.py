import asyncio
import os
import threading

import pytest

from pytest_chatfake.webhooks import overdue

said, say = threading.Event(), overdue.say


def loudly(text):
    say(text)
    said.set()


overdue.say = loudly


def note(kind, text):
    with open(f"{kind}-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}", "a") as notes:
        print(text, file=notes)


@pytest.mark.chat_fake(timeout=0.01)
def test_that_hangs(chat_fake):
    chat_fake.webhooks.connect(handler=lambda request: said.wait(30) and None)
    chat_fake.send_text()
    assert chat_fake.webhooks.attempts[0].late == 200


tasks = set()


async def go_on():
    try:
        await asyncio.sleep(1000)
    finally:
        note("tasks", "cancelled")


async def app(scope, receive, send):
    tasks.add(asyncio.ensure_future(go_on()))
    await send({"type": "http.response.start", "status": 204})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize("number", range(3))
def test_of_the_loop(chat_fake, number):
    chat_fake.webhooks.connect(asgi=app)
    note("ids", f"{number} {chat_fake.send_text().id}")
    assert len({task.get_loop() for task in tasks}) == 1
    assert not any(task.done() for task in tasks)


def test_that_fails(chat_fake, chat_receiver):
    chat_fake.send_text().deliver()
    assert 1 == 2
