"""Threads of the app look at the fake while the test goes on."""

import threading
from functools import partial

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base import faults

from .api_clients import call_with_werkzeug
from .middles import PACKAGE, Meanwhile, switching_all_the_time  # noqa: F401 - a fixture


def let_others_go_on():
    """Let every other thread go on until it waits or has ended.

    Each of these threads takes its turn, so any other one that can go on has many turns as well.
    """
    for _ in range(200):
        thread = threading.Thread(target=int, daemon=True)
        thread.start()
        thread.join(60)


def sent_elsewhere(fake, receiver, send):
    """Send from another thread; return it once its attempt has begun, before the receiver acts."""
    begun = threading.Event()

    def handler(request):
        begun.set()
        let_others_go_on()
        receiver(request)

    fake.webhooks.connect(handler=handler)
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    assert begun.wait(60)
    return thread


def test_time_waits_for_an_attempt_of_another_thread(fake):
    seen = []
    fake.clock.advance(1)
    before = fake.clock.now
    thread = sent_elsewhere(fake, lambda _: seen.append(fake.clock.now), fake.send_text)
    fake.clock.advance(hours=1)
    thread.join(60)

    assert [before] == seen


def test_a_verb_waits_until_another_thread_has_attempted_its_event(fake):
    told = []
    thread = sent_elsewhere(fake, lambda it: told.append(it.event.status), fake.send_text)
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


def test_what_a_raising_receiver_left_is_attempted_by_the_waiting_thread(fake):
    told = []

    def receiver(request):
        if not told:
            told.append("raised")
            raise KeyError("the other thread's")
        told.append(request.event.status)

    def send():
        with pytest.raises(KeyError):
            fake.send_text(to="+1")

    thread = sent_elsewhere(fake, receiver, send)
    fake.send_text(to="+2")

    assert told == ["raised", "sent"]
    thread.join(60)


def test_a_fault_is_kept_wherever_another_thread_removes_one_meanwhile():
    number, came = 1, True
    while came:
        with ChatFake(strict=False) as fake:
            first = fake.webhooks.lose()
            meanwhile = Meanwhile(faults.__file__, number, fake.webhooks.refuse)
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
            meanwhile = Meanwhile(PACKAGE, number, connect)
            with meanwhile:
                fake.send_text()
            came = meanwhile.came
            before = len(fake.webhooks.attempts)
            fake.send_text()
            assert 1 + came == len(fake.webhooks.attempts) - before, number
        number += 1
    assert number > 3


def test_an_error_raised_by_another_thread_meanwhile_is_not_the_fakes_own():
    number, came = 1, True
    while came:
        with ChatFake() as fake:
            raised = []

            def use(use, raised=raised):
                try:
                    use()
                except KeyError as error:
                    raised.append(str(error))

            @fake.route("/call")
            def respond(_):
                raise KeyError("of a route")

            call_with_werkzeug(fake, "POST", "/call")
            meanwhile = Meanwhile(PACKAGE, number, partial(use, lambda fake=fake: fake.messages))
            with meanwhile:
                use(partial(fake.top_up, 1))
            came = meanwhile.came
            assert {*raised} == {"'of a route'"}
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
