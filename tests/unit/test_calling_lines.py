"""The line that a message names is the test's own, however a verb gets there."""

from __future__ import annotations

import _thread
import threading
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base.calling_line import Line

from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable

#: Each lays one or more steps, all of them on its own line. ``s`` was submitted, ``e`` is an event.
VERBS: dict[str, Callable[[ChatFake, Any, Any], object]] = {
    "send_text": lambda fake, s, e: fake.send_text(),
    "submit_text": lambda fake, s, e: (fake.send_text(), fake.submit_text()),
    "accept": lambda fake, s, e: s.accept(),
    "reject": lambda fake, s, e: s.reject(),
    "deliver": lambda fake, s, e: s.accept().deliver(),
    "read": lambda fake, s, e: s.accept().read(),
    "fail": lambda fake, s, e: s.accept().fail(),
    "emit": lambda fake, s, e: fake.webhooks.emit(s.accept(), "read"),
    "redeliver": lambda fake, s, e: fake.webhooks.redeliver(e),
    "top_up": lambda fake, s, e: fake.top_up(1),
    "set_balance": lambda fake, s, e: fake.set_balance(1),
    "settle": lambda fake, s, e: fake.settle(),
    "reset": lambda fake, s, e: fake.reset(),
    "advance": lambda fake, s, e: fake.clock.advance(hours=1),
    "move_to": lambda fake, s, e: fake.clock.move_to(fake.clock.now),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_names_the_line_where_the_test_wrote_it(verb: str) -> None:
    write = VERBS[verb]
    with ChatFake() as other:
        event = other.send_text().events[0]
    with ChatFake(mode="async") as fake:
        write(fake, fake.submit_text(), event)
        lines = {step.line for step in fake._engine.plan._steps}
        fake._engine.plan.drop()

    test = test_every_verb_names_the_line_where_the_test_wrote_it.__code__.co_firstlineno + 6
    assert {Line(__file__, test, (__file__, write.__code__.co_firstlineno))} == lines


def test_a_fault_names_the_line_where_the_test_wrote_it() -> None:
    with ChatFake() as fake:
        faults = [fake.webhooks.duplicate(), fake.webhooks.delay(1), fake.api.fail(500)]
        for fault in faults:
            fault.remove()
        here = test_a_fault_names_the_line_where_the_test_wrote_it.__code__.co_firstlineno + 2

        assert [here] * 3 == [fault.line.number for fault in faults]
        fake._engine.outbox.faults.ever.clear()
        fake.api._faults.ever.clear()


def test_a_thread_that_runs_nothing_but_a_verb_is_no_trouble() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        done = threading.Event()
        fake.webhooks.connect(handler=lambda _: done.set())
        _thread.start_new_thread(message.deliver, ())
        assert done.wait(5)
        fake.settle()

        assert ["sent", "delivered"] == [event.status for event in message.events]
