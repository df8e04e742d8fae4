import threading

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.webhooks import overdue

said, say = threading.Event(), overdue.say


def loudly(text):
    say(text)
    said.set()


overdue.say = loudly


def slow_app(environ, start_response):
    assert said.wait(30)
    said.clear()
    start_response("204 No Content", [])
    return []


@pytest.mark.chat_fake(timeout=0.01)
def test_fixture(chat_fake):
    chat_fake.webhooks.connect(wsgi=slow_app, path="/hooks/chat")
    chat_fake.send_text()
    assert chat_fake.webhooks.attempts[0].late == 204


def test_own_fake():
    with ChatFake(timeout=0.01) as fake:
        fake.webhooks.connect(handler=lambda request: said.wait(30) and None)
        fake.send_text()
        assert fake.webhooks.attempts[0].late == 200
