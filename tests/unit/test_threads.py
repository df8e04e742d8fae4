"""Threads of the app look at the fake while the test goes on."""

import sys
import threading
from contextlib import suppress
from functools import partial

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base import triggers
from pytest_chatfake.base.history import History, Record
from pytest_chatfake.fake.inside import Inside
from pytest_chatfake.webhooks import core, endpoints


@pytest.fixture(autouse=True)
def _switching_all_the_time():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


class Turn:
    """The lock of a drain; it shows when a thread begins to wait for it."""

    def __init__(self, fake):
        drain = fake._engine.drain
        self._lock = drain._drain_lock
        self.is_awaited = threading.Event()
        drain._drain_lock = self

    def acquire(self, blocking=True, timeout=-1):
        if blocking:
            self.is_awaited.set()
        return self._lock.acquire(blocking, timeout)

    def release(self):
        self._lock.release()


def test_time_waits_for_an_attempt_of_another_thread():
    with ChatFake() as fake:
        begun, turn = threading.Event(), Turn(fake)
        seen = []

        def receiver(_):
            begun.set()
            assert turn.is_awaited.wait(60)
            seen.append(fake.clock.now)

        fake.clock.advance(1)
        before = fake.clock.now
        fake.webhooks.connect(handler=receiver)
        thread = threading.Thread(target=fake.send_text, daemon=True)
        thread.start()
        assert begun.wait(60)
        fake.clock.advance(hours=1)
        thread.join(60)

        assert [before] == seen


def test_a_verb_waits_until_another_thread_has_attempted_its_event():
    with ChatFake() as fake:
        begun, turn = threading.Event(), Turn(fake)
        told = []

        def receiver(request):
            begun.set()
            assert turn.is_awaited.wait(60)
            told.append(request.event.status)

        fake.webhooks.connect(handler=receiver)
        thread = threading.Thread(target=fake.send_text, daemon=True)
        thread.start()
        assert begun.wait(60)
        fake.send_text(to="+1").deliver()

        assert told == ["sent", "sent", "delivered"]
        thread.join(60)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fake: fake.settle(),
        lambda fake: fake.assert_charged(0),
        lambda fake: fake.top_up(1),
        lambda fake: fake.clock.advance(1),
    ],
)
def test_a_thread_that_an_attempt_waits_for_does_not_wait_for_it(ask):
    with ChatFake(timeout=600) as fake:

        def receiver(_):
            thread = threading.Thread(target=ask, args=(fake,), daemon=True)
            thread.start()
            thread.join(60)
            assert not thread.is_alive()

        fake.webhooks.connect(handler=receiver)
        fake.send_text()

        assert [attempt.ok for attempt in fake.webhooks.attempts] == [True]


def test_a_reset_may_come_in_the_middle_of_a_look_at_the_history():
    class ResetMeanwhile(list):
        def __len__(self):
            history.reset()
            return super().__len__()

    history = History()
    record = history.add(Record())
    history.records = ResetMeanwhile(history.records)

    assert history.has(record)
    assert not history.has(record)


def test_what_a_raising_receiver_left_is_attempted_by_the_waiting_thread():
    with ChatFake() as fake:
        begun, turn = threading.Event(), Turn(fake)
        told = []

        def receiver(request):
            if not told:
                told.append("raised")
                begun.set()
                assert turn.is_awaited.wait(60)
                raise KeyError("the other thread's")
            told.append(request.event.status)

        def send():
            with pytest.raises(KeyError):
                fake.send_text(to="+1")

        fake.webhooks.connect(handler=receiver)
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        assert begun.wait(60)
        fake.send_text(to="+2")

        assert told == ["raised", "sent"]
        thread.join(60)


class Meanwhile:
    """Lets another thread do something once, at the n-th call or return in one of our modules.

    It does so in the thread that it interrupts, which holds no lock there.
    """

    def __init__(self, module, number, work):
        self._file = module.__file__
        self._left = number
        self._work = work
        self.came = False

    def __enter__(self):
        sys.setprofile(self._profile)

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, _event, _argument):
        if frame.f_code.co_filename == self._file:
            self._left -= 1
            if self._left == 0:
                sys.setprofile(None)
                self.came = True
                self._work()


def test_a_fault_is_kept_wherever_another_thread_removes_one_meanwhile():
    number, came = 1, True
    while came:
        with ChatFake(strict=False) as fake:
            first = fake.webhooks.drop()
            meanwhile = Meanwhile(triggers, number, fake.webhooks.refuse)
            with meanwhile:
                first.remove()
            came = meanwhile.came
            fake.webhooks.receiver()
            fake.send_text()
            assert fake.webhooks.attempts[0].fault == ("refuse" if came else None)
            fake.reset()
        number += 1
    assert number > 3


def test_an_endpoint_connected_at_any_point_of_a_threads_verb_gets_events():
    number, came = 1, True
    while came:
        with ChatFake(strict=False) as fake:
            connect = partial(fake.webhooks.connect, handler=lambda _: None)
            connect()
            meanwhile = Meanwhile(endpoints, number, connect)
            with meanwhile:
                fake.send_text()
            came = meanwhile.came
            before = len(fake.webhooks.attempts)
            fake.send_text()
            assert 1 + came == len(fake.webhooks.attempts) - before, number
        number += 1
    assert number > 3


def test_an_error_raised_by_another_thread_meanwhile_is_not_the_fakes_own():
    with ChatFake() as fake:
        errors = Inside(fake).errors
        number, came = 1, True
        while came:
            errors.append(KeyError("of a route"))
            meanwhile = Meanwhile(core, number, errors.clear)
            with meanwhile, suppress(KeyError):
                fake.top_up(1)
            came = meanwhile.came
            number += 1
        assert number > 3


def test_people_who_write_in_two_threads_at_once_have_their_own_messages():
    begun, over = threading.Event(), threading.Event()

    def shape(message):
        if not begun.is_set():
            begun.set()
            assert over.wait(60)
        return {"resource": message.resource}

    with ChatFake(inbound=shape) as fake:
        receiver = fake.webhooks.receiver(events="*")
        thread = threading.Thread(target=lambda: fake.recipient("+1").writes("first"), daemon=True)
        thread.start()
        assert begun.wait(60)
        fake.recipient("+2").writes("second")
        over.set()
        thread.join(60)

        found = [event.json()["chatInboundMessage"] for event in receiver.events]
        assert [(message["from"], message["text"]) for message in found] == [
            ("+2", {"body": "second"}),
            ("+1", {"body": "first"}),
        ]
        assert len({message["id"] for message in found}) == 2
