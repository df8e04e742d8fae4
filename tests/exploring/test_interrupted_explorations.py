"""Ctrl-C, or a test's timeout, at any point of an exploration: the process is as it was."""

from contextlib import suppress
from threading import Timer

import pytest
import time_machine

from pytest_chatfake import ChatFake, Explorer

from ..unit.test_interrupts import Interrupted, Interruption, Process


# Python tells of a coroutine, and of an object half made, that an interrupt left behind.
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestWarning")
@pytest.mark.parametrize("passes", [True, False])
def test_an_interrupt_anywhere_in_an_exploration_leaves_the_process_whole(passes):
    def body(fake):
        seen = []
        fake.webhooks.connect(handler=lambda request: seen.append(request.id))
        fake.send_text().deliver()
        fake.settle()
        assert passes or len(seen) == 2

    process, number, came, code = Process(), 1, True, Timer.__init__.__code__
    while came:
        interruption, explorer = Interruption(number), Explorer()
        with suppress(Interrupted, AssertionError), interruption:
            explorer(body, depth=0 if passes else 1, deviations=["duplicate"])
        explorer._end()  # as the fixture does
        came = interruption.came
        assert process.is_whole(), number
        assert Timer.__init__.__code__ is code, number  # whose calls a world sees
        number += 1 + number // 25  # it has some thousand points
    assert number > 1_000


def test_an_interrupt_while_an_exploration_closes_a_fake_gives_back_time():
    left = []

    class Fake(ChatFake):
        def _shut(self):
            if self in left:
                left.clear()
                raise Interrupted
            super()._shut()

    process = Process()
    explorer = Explorer()
    with pytest.raises(Interrupted):
        explorer(lambda _: left.append(Fake()), depth=0)
    assert time_machine.traveller_stack == []
    explorer._end()
    assert process.is_whole()


def test_an_interrupt_before_a_watch_ends_gives_functions_back_their_code(monkeypatch):
    def end(_):
        raise Interrupted

    monkeypatch.setattr("pytest_chatfake.exploring.memories.MemoryWatch.end", end)
    code = Timer.__init__.__code__
    with pytest.raises(Interrupted):
        Explorer()(lambda fake: fake.send_text(), depth=0)
    assert Timer.__init__.__code__ is code


def test_an_interrupt_while_progress_is_wiped_leaves_the_process_whole():
    def progress(text):
        if not text:
            raise Interrupted

    process = Process()
    with pytest.raises(Interrupted):
        Explorer(progress=progress)(lambda fake: fake.send_text(), depth=0)
    assert process.is_whole()
