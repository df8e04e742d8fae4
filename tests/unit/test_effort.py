"""What a test does for each message costs the same for the first one and for the thousandth.

Counted in lines that the package executes, because seconds depend on the machine.
"""

import sys
from contextlib import contextmanager
from functools import partial

import pytest

from pytest_chatfake import ChatFake

from .fakes import frozen_fake
from .middles import PACKAGE

#: What is done for a message, after it was sent and delivered.
CALLS = {
    "send_text": lambda fake, message: fake.send_text(),
    "deliver": lambda fake, message: message.deliver(),
    "find_message(to=)": lambda fake, message: fake.find_message(to=message.to),
    "find_message(body=)": lambda fake, message: fake.find_message(body=message.body),
    "message(id)": lambda fake, message: fake.message(message.id),
    "its events": lambda fake, message: message.events[-1],
    "balance": lambda fake, message: fake.balance,
    "next_due": lambda fake, message: fake.clock.next_due,
    "settle": lambda fake, message: fake.settle(),
    "assert_statuses": lambda fake, message: fake.assert_statuses(message, "sent", "delivered"),
    "assert_charged": lambda fake, message: fake.assert_charged(message.charged, message=message),
}


def lines_of(call):
    """Return how many lines of the package a call executes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename.startswith(PACKAGE):
            count += event == "line"
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def last_of(fake, number):
    """Send so many messages in all, and return the last one."""
    for index in range(len(fake.messages), number):
        text = f"text {index}"
        sent = fake.send_text(text, to=f"+{index}", conversation="c0ffee")
        sent.deliver()
    return fake.messages[-1]


@pytest.mark.parametrize("call", CALLS)
def test_what_is_done_for_a_message_takes_as_long_for_the_last_of_many(call):
    with ChatFake(strict=False) as fake:
        fake.webhooks.receiver()
        use = partial(CALLS[call], fake)
        lines = []
        for number in (10, 20, 200, 210):
            lines_of(partial(use, last_of(fake, number)))  # catches up
            lines.append(lines_of(partial(use, last_of(fake, number + 1))))

    few, many = min(lines[:2]), min(lines[2:])
    assert few > 0
    assert many <= few + 10


def test_a_message_costs_no_more_beside_thousands_of_conversations(fake):
    def beside(numbers):
        for number in numbers:
            fake.send_text(conversation=f"{number:x}")
        conversations = (f"{numbers.stop:x}", "1", None)
        return lines_of(lambda: [fake.send_text(conversation=one) for one in conversations])

    few, many = beside(range(1, 11)), beside(range(12, 4_000))
    assert many < 2 * few


#: What makes events wait for so many attempts that they never come.
WAITING = {
    "reorder": lambda webhooks: webhooks.reorder(by=9_999, times=None, status="sent"),
    "duplicate": lambda webhooks: webhooks.duplicate(after=9_999, times=None, status="sent"),
    "concurrently": lambda webhooks: webhooks.concurrently(by=9_999, times=None, status="sent"),
    "delay": lambda webhooks: webhooks.delay(9_999, times=None, status="sent"),
}


async def app(_):
    """Handles one event beside another."""


@pytest.mark.parametrize("waiting", WAITING)
def test_an_event_costs_no_more_beside_many_that_wait(waiting):
    with ChatFake(strict=False) as fake:
        fake.webhooks.connect(handler=app)
        WAITING[waiting](fake.webhooks)
        lines = []
        for number in (10, 90):
            for _ in range(number):
                fake.send_text().deliver()
            lines.append(lines_of(lambda: fake.send_text().deliver()))
        fake.reset()

    few, many = lines
    assert many <= few + 10


# -- many at once ----------------------------------------------------------------------------------


@contextmanager
def held_back(fake, number):
    with fake.webhooks.paused() as queue:
        send(fake, number)
        yield queue.release


@contextmanager
def reordered(fake, number):
    fake.webhooks.reorder(by=9_999, times=None)
    send(fake, number)
    yield fake.settle


@contextmanager
def failing(fake, number):
    fake.webhooks.connect(handler=lambda _: 500, retry_after=[60])
    send(fake, number)
    yield partial(fake.clock.advance, 60)


@contextmanager
def phone_off(fake, number):
    anna = fake.recipient("+1", online=False)
    send(fake, number)
    yield anna.comes_online


@contextmanager
def on_many_devices(fake, number):
    message = fake.send_text()
    yield partial(message.deliver, devices=number)


@contextmanager
def all_at_once(fake, number):
    yield partial(send_at_once, fake, number)


def send_at_once(fake, number):
    with fake.webhooks.concurrently():
        send(fake, number)


def send(fake, number):
    for _ in range(number):
        fake.send_text(to="+1")


#: What happens to so many events at once.
AT_ONCE = {
    "released": held_back,
    "late": reordered,
    "retried": failing,
    "waiting for a phone": phone_off,
    "on many devices": on_many_devices,
    "at the same time": all_at_once,
}


@pytest.mark.parametrize("what", AT_ONCE)
def test_twice_as_many_events_at_once_cost_twice_as_much(what):
    lines = []
    for number in (40, 80):
        with frozen_fake(strict=False) as fake:
            fake.webhooks.connect(handler=app)
            with AT_ONCE[what](fake, number) as act:
                lines.append(lines_of(act))
            fake.reset()

    once, twice = lines
    assert once > 40
    assert twice < 2.2 * once
