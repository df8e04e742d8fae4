"""Ctrl-C, or a test's timeout, at any call or return of a verb: nothing stays locked."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import time_machine

import pytest_chatfake
from pytest_chatfake import ChatFake
from pytest_chatfake.fake.fake import service

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

PACKAGE = str(Path(pytest_chatfake.__file__).parent)

#: Where Python looks at the signals: a function begins, or one has returned, of C's too.
POINTS = frozenset({"call", "return", "c_return"})

#: But up to 3.13 it never does between a lock's own `__enter__` or `__exit__` and the block. Since
#: 3.14 it does, and so it may leave any lock taken that anybody's `with` takes.
HANDS = frozenset({"__enter__", "__exit__"} if sys.version_info >= (3, 14) else ())


class Interrupted(BaseException):
    """What the handler of a signal raises."""


class Interruption:
    """Raises at the n-th point of the package's own code that a block comes to.

    Not in what the garbage collector happens to end there: whatever is raised in it reaches nobody.
    """

    def __init__(self, number: int) -> None:
        self._left = number
        self.came = False

    def __enter__(self) -> None:
        gc.disable()
        sys.setprofile(self._profile)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        gc.enable()

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in POINTS or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if event == "c_return" and argument.__name__ in HANDS:
            return
        self._left -= 1
        if self._left == 0:
            sys.setprofile(None)
            self.came = True
            raise Interrupted


VERBS: dict[str, Callable[[ChatFake, Any], object]] = {
    "send_text": lambda fake, _: fake.send_text(),
    "send_text, priced": lambda fake, _: fake.send_text(price=lambda _: 2),
    "deliver": lambda _, message: message.deliver(devices=2),
    "read": lambda _, message: message.read(),
    "fail": lambda _, message: message.fail(),
    "advance": lambda fake, _: fake.clock.advance(days=31),
    "settle": lambda fake, _: fake.settle(),
    "reset": lambda fake, _: fake.reset(),
    "emit": lambda fake, message: fake.webhooks.emit(message, "read"),
}


def is_free(fake: ChatFake) -> bool:
    """Whether another thread can take the fake's lock."""
    taken: list[bool] = []

    def take() -> None:
        lock = fake._engine.lock
        if lock.acquire(timeout=60):
            taken.append(True)
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return bool(taken)


@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_any_point_of_a_verb_leaves_nothing_locked(verb: str) -> None:
    number, came = 1, True
    while came:
        interruption = Interruption(number)
        with ChatFake(seed="interrupted") as fake:
            receiver = fake.webhooks.receiver()
            message = fake.send_text(to="+0")
            if verb == "settle":  # something is due, and something is queued
                receiver.respond(500)
                fake.webhooks.duplicate()
            try:
                with interruption:
                    VERBS[verb](fake, message)
            except Interrupted:
                pass
            came = interruption.came

            assert {} == fake._engine.outbox.busy, number
            assert {} == fake._engine.asking.threads, number
            assert is_free(fake), number
            fake.webhooks._outbox.faults.clear()
            _ = fake.timeline.text  # what a report shows
            _ = fake.webhooks.attempts
            fake._engine.outbox.queue.clear()
        assert [] == time_machine.traveller_stack, number
        assert not service._lock.locked(), number

        with ChatFake(seed="the next test") as fake:
            receiver = fake.webhooks.receiver()
            following = fake.send_text().deliver()
            assert ["sent", "delivered"] == receiver.statuses(following), number
            fake.assert_charged("0.05")
        number += 1
    assert number > 10
