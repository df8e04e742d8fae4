"""What a test does for each message costs the same for the first one and for the thousandth.

Counted in lines that the package executes, because seconds depend on the machine.
"""

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import pytest_chatfake
from pytest_chatfake import ChatFake
from pytest_chatfake.webhooks.backlog import Backlog

PACKAGE = str(Path(pytest_chatfake.__file__).parent)

#: What is done for a message, after it was sent and delivered.
CALLS = {
    "send_text": lambda fake, message: fake.send_text(),
    "deliver": lambda fake, message: message.deliver(),
    "find_message(to=)": lambda fake, message: fake.find_message(to=message.to),
    "find_message(body=)": lambda fake, message: fake.find_message(body=message.body),
    "find_message(ref=)": lambda fake, message: fake.find_message(ref=message.body),
    "message(id)": lambda fake, message: fake.message(message.id),
    "messages": lambda fake, message: fake.messages[-1],
    "conversations": lambda fake, message: fake.conversations[-1],
    "its conversation's messages": lambda fake, message: message.conversation.messages[-1],
    "its events": lambda fake, message: message.events[-1],
    "events": lambda fake, message: fake.events[-1],
    "ledger": lambda fake, message: fake.ledger[-1],
    "balance": lambda fake, message: fake.balance,
    "attempts": lambda fake, message: fake.webhooks.attempts[-1],
    "next_due": lambda fake, message: fake.clock.next_due,
    "settle": lambda fake, message: fake.settle(),
    "assert_statuses": lambda fake, message: fake.assert_statuses(message, "sent", "delivered"),
    "assert_charged": lambda fake, message: fake.assert_charged(message.charged, message=message),
    "assert_held": lambda fake, message: fake.assert_held(0),
}

#: What is done with what a receiver got.
OF_RECEIVER = {
    "requests": lambda receiver, message: receiver.requests[-1],
    "the receiver's events": lambda receiver, message: receiver.events[-1],
    "the receiver's statuses": lambda receiver, message: receiver.statuses(message),
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
        sent = fake.send_text(text, to=f"+{index}", conversation="c0ffee", extra={"ref": text})
        sent.deliver()
    return fake.messages[-1]


@pytest.mark.parametrize("call", [*CALLS, *OF_RECEIVER])
def test_what_is_done_for_a_message_takes_as_long_for_the_last_of_many(call):
    with ChatFake(strict=False) as fake:
        receiver = fake.webhooks.receiver()
        use = partial(CALLS[call], fake) if call in CALLS else partial(OF_RECEIVER[call], receiver)
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


@pytest.mark.parametrize(
    ("call", "delay"),
    [
        (Backlog.note_attempt, Backlog.delay),
        (Backlog.note_attempt, partial(Backlog.repeat, waits_on=True)),
        (Backlog.take_peers, Backlog.await_peer),
        (Backlog.release, partial(Backlog.repeat, waits_on=True)),
    ],
)
def test_delayed_attempts_that_wait_on_take_no_time(call, delay):
    lines = []
    for number in (10, 100):
        backlog = Backlog()
        for place in range(number):
            delay(backlog, place, 1_000, SimpleNamespace())
        lines.append(lines_of(partial(call, backlog)))

    assert lines[0] == lines[1]
