"""The line that a message names is the test's own, however a verb gets there."""

import _thread
import json
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FunctionType

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, NotAwaited
from pytest_chatfake.base import calling_line
from pytest_chatfake.base.current_test import current, running

from .fakes import frozen_fake


def line_after(function, lines):
    """The line of this file so many lines after the first one of a function."""
    return f"test_calling_lines.py:{function.__code__.co_firstlineno + lines}"


def past_event():
    with ChatFake() as other:
        return other.send_text().events[0]


#: Each lays one or more steps, all of them on its own line.
VERBS = {
    "send_text": lambda fake: fake.send_text(),
    "submit_text": lambda fake: (fake.send_text(), fake.submit_text()),
    "accept": lambda fake: fake.submit_text().accept(),
    "reject": lambda fake: fake.submit_text().reject(),
    "deliver": lambda fake: fake.send_text().deliver(),
    "read": lambda fake: fake.send_text().read(),
    "fail": lambda fake: fake.send_text().fail(),
    "emit": lambda fake: fake.webhooks.emit(fake.send_text(), "read"),
    "emit_event": lambda fake: fake.webhooks.emit_event("chat.order.placed"),
    "redeliver": lambda fake: fake.webhooks.redeliver(past_event()),
    "top_up": lambda fake: fake.top_up(1),
    "set_balance": lambda fake: fake.set_balance(1),
    "settle": lambda fake: fake.settle(),
    "reset": lambda fake: fake.reset(),
    "advance": lambda fake: fake.clock.advance(hours=1),
    "move_to": lambda fake: fake.clock.move_to(fake.clock.now),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_names_the_line_where_the_test_wrote_it(verb):
    with pytest.raises(NotAwaited) as caught, ChatFake(mode="async") as fake:
        VERBS[verb](fake)

    here = line_after(test_every_verb_names_the_line_where_the_test_wrote_it, 3)
    assert f"{here} via {line_after(VERBS[verb], 0)}" in str(caught.value)


def test_a_fault_names_the_line_where_the_test_wrote_it(fake):
    faults = [fake.webhooks.duplicate(), fake.webhooks.delay(1), fake.api.fail(500)]
    fake.reset()

    here = line_after(test_a_fault_names_the_line_where_the_test_wrote_it, 1)
    assert [here] * 3 == [str(fault.line) for fault in faults]


def test_a_thread_that_runs_nothing_but_a_verb_is_no_trouble(fake):
    message = fake.send_text()
    done = threading.Event()
    fake.webhooks.connect(handler=lambda _: done.set())
    _thread.start_new_thread(message.deliver, ())
    assert done.wait(60)
    fake.settle()

    assert [event.status for event in message.events] == ["sent", "delivered"]


# -- threads and libraries -------------------------------------------------------------------------

SEND_CALL = {"to": "+1", "type": "text", "text": {"body": "Hello"}}


def called(fake):
    """Send by the send call, in process: a library is between the test and the fake."""
    Client(fake.wsgi_app).post("/v2/messages", json=SEND_CALL, headers={"X-API-Key": fake.api_key})


def called_over_a_socket(fake):
    headers = {"X-API-Key": fake.api_key, "Content-Type": "application/json"}
    url, body = f"{fake.base_url}/v2/messages", json.dumps(SEND_CALL).encode()
    urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60).close()


def in_a_thread(target):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(target).result()


@contextmanager
def outside_a_test():
    """A fake where pytest runs no test."""
    with running(None), frozen_fake() as fake:
        yield fake


def test_a_library_between_the_test_and_the_fake_is_not_named(fake):
    fake.send_endpoint()
    called(fake)

    here = line_after(test_a_library_between_the_test_and_the_fake_is_not_named, 2)
    assert f"{here} via {line_after(called, 2)}" == str(fake.events[0].line)


def test_a_call_over_a_socket_names_the_test():
    with ChatFake() as fake:
        fake.send_endpoint()
        called_over_a_socket(fake)

    here = line_after(test_a_call_over_a_socket_names_the_test, 0)
    assert f" verb     the send call m1  by the app, at {here}" in fake.timeline.text()


def send(fake):
    fake.send_text()


def send_in_threads(fake):
    in_a_thread(fake.send_text)
    in_a_thread(lambda: send(fake))


@pytest.fixture
def sent_by_threads(fake):
    send_in_threads(fake)
    return fake


def test_a_thread_names_its_own_line_or_the_first_one_of_the_test(sent_by_threads):
    send_in_threads(sent_by_threads)

    here = line_after(test_a_thread_names_its_own_line_or_the_first_one_of_the_test, 0)
    in_the_fixture_and_here = [f"by the app, at {line}" for line in (here, line_after(send, 1))] * 2
    assert [event.line.place for event in sent_by_threads.events] == in_the_fixture_and_here


def test_outside_a_test_a_line_of_the_users_is_named():
    with outside_a_test() as fake:
        fake.send_endpoint()
        called(fake)
        in_a_thread(lambda: [fake.send_text()])

    test = test_outside_a_test_a_line_of_the_users_is_named
    expected = [f"at {line_after(called, 2)}", f"at {line_after(test, 4)}"]
    assert expected == [event.line.place for event in fake.events]


def test_outside_a_test_a_call_over_a_socket_has_no_line_of_the_server():
    with outside_a_test() as fake:
        fake.send_endpoint()
        called_over_a_socket(fake)

    line = fake.events[0].line
    assert (line.place, str(line)) == ("by the app", "the app")


def test_a_test_that_a_library_has_written_leaves_the_lines_to_its_steps(monkeypatch):
    monkeypatch.setattr(calling_line, "_is_library", lambda file: file == "scenario.py")
    namespace = {}
    exec(compile("def scenario(step):\n    step()", "scenario.py", "exec"), namespace)
    with current().following(namespace["scenario"].__code__), frozen_fake() as fake:
        namespace["scenario"](lambda: [fake.send_text()])

    test = test_a_test_that_a_library_has_written_leaves_the_lines_to_its_steps
    assert line_after(test, 5) == str(fake.events[0].line)


def test_where_all_lines_are_a_librarys_one_of_them_is_named(monkeypatch):
    monkeypatch.setattr(calling_line, "_is_library", lambda file: True)
    with outside_a_test() as fake:
        fake.send_text()

    assert __file__ == fake.events[0].line.file


def test_what_has_started_pytest_is_no_part_of_a_test():
    runner = FunctionType((lambda verb: verb()).__code__, {"__name__": "_pytest.runner"})
    with frozen_fake() as fake, current().following(past_event.__code__):
        message = runner(fake.send_text)

    assert line_after(past_event, 0) == str(message.events[0].line)


@pytest.mark.parametrize(
    ("file", "is_library"),
    [
        (pytest.__file__, True),
        (json.__file__, True),
        ("<frozen importlib._bootstrap>", True),
        ("<attrs generated init shop.Order>", True),
        ("<string>", False),
        ("/home/ann/site-packages/shop/app.py", False),
        ("/srv/dist-packages/app.py", False),
        ("/home/ann/our generated code/app.py", False),
        ("/usr/local/lib/other/site-packages/shop.py", True),
    ],
)
def test_a_library_is_what_is_installed_where_python_looks(monkeypatch, file, is_library):
    monkeypatch.syspath_prepend("/usr/local/lib/other/site-packages")
    assert is_library is calling_line._is_library.__wrapped__(file)
