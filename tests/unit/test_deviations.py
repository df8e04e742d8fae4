"""Attempts that come late, again, unheard or refused: counted where they are made."""

from datetime import timedelta

import pytest

from pytest_chatfake.fake.inside import Inside

from .fakes import (
    attempt_rows,
    fake_with_receiver,
    frozen_fake,
    received_statuses,
    unchanged,
    warnings_at_the_end,
)

#: What is set up, and the statuses that the app gets of sent, delivered, read and then settle().
ORDERS = [
    ("late", lambda w: w.reorder(), "delivered sent read"),
    ("late by 2", lambda w: w.reorder(by=2), "delivered read sent"),
    ("late, the second", lambda w: w.reorder(start=2), "sent read delivered"),
    ("late by more than there are", lambda w: w.reorder(by=9), "delivered read sent"),
    ("late, all of them", lambda w: w.reorder(times=None), "sent delivered read"),
    ("again at once", lambda w: w.duplicate(after=0), "sent sent delivered read"),
    ("again after 1", lambda w: w.duplicate(after=1), "sent delivered sent read"),
    ("again after 2", lambda w: w.duplicate(after=2), "sent delivered read sent"),
    ("again after more than there are", lambda w: w.duplicate(after=9), "sent delivered read sent"),
    ("again, the last", lambda w: w.duplicate(after=0, start=3), "sent delivered read read"),
    ("response lost", lambda w: w.lose_response(), "sent delivered read sent"),
    ("refused", lambda w: w.refuse(), "delivered read sent"),
    ("refused for good", lambda w: w.drop(), "delivered read"),
    ("two late", lambda w: (w.reorder(by=2), w.reorder(by=1, start=2)), "read delivered sent"),
    ("late, and again at once", lambda w: (w.duplicate(), w.reorder(by=2)),
     "delivered read sent sent"),
    ("refused, the second late", lambda w: (w.refuse(), w.reorder(by=5, start=2)),
     "read delivered sent"),
    ("late and again", lambda w: (w.reorder(), w.duplicate(after=0, start=2)),
     "delivered sent delivered read"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("set_up", "expected"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS]
)
def test_attempts_come_in_the_order_that_was_asked_for(fake, receiver, set_up, expected):
    set_up(fake.webhooks)
    message = fake.send_text().deliver().read()
    fake.settle()

    assert expected.split() == receiver.statuses(message)


@pytest.mark.parametrize(
    ("kind", "received", "error"),
    [("lose_response", [1, 2], TimeoutError), ("refuse", [2], ConnectionRefusedError)],
)
def test_a_lost_response_and_a_refusal_are_recorded_as_failures(
    fake, receiver, kind, received, error
):
    getattr(fake.webhooks, kind)()
    fake.send_text()
    fake.settle()

    assert received == [request.number for request in receiver.requests]
    assert [("sent", 1, kind, None), ("sent", 2, None, 200)] == attempt_rows(fake)
    assert isinstance(fake.webhooks.attempts[0].error, error)


BARRIERS = {
    "settle": lambda fake: fake.settle(),
    "assertion": lambda fake: fake.assert_charged("0"),
    "advance": lambda fake: fake.clock.advance(seconds=0),
    "move_to": lambda fake: fake.clock.move_to(fake.clock.now),
}


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("kind", ["reorder", "lose_response", "refuse"])
def test_nothing_waits_past_a_barrier_but_a_repeat_that_is_told_to(fake, receiver, barrier, kind):
    getattr(fake.webhooks, kind)()
    Inside.let_wait(fake.webhooks.duplicate(after=2, start=2))
    fake.send_text("+1", to="+1")
    fake.send_text("+2", to="+2")
    before = len(receiver.requests)
    BARRIERS[barrier](fake)

    assert {"reorder": 2, "lose_response": 2, "refuse": 1}[kind] == before
    assert {"reorder": 2, "lose_response": 3, "refuse": 2}[kind] == len(receiver.requests)
    fake.send_text(to="+3")  # the second one that the duplicate waits for
    assert receiver.requests[-1].json()["chatMessage"]["text"]["body"] == "+2"


@pytest.mark.parametrize("barrier", BARRIERS)
def test_a_repeat_comes_at_a_barrier_if_too_few_attempts_came_before(fake, receiver, barrier):
    fault = fake.webhooks.duplicate(after=2)
    message = fake.send_text()
    BARRIERS[barrier](fake)

    assert receiver.statuses(message) == ["sent", "sent"]
    assert fault.fired == 1


def test_a_read_of_results_is_no_barrier():
    with fake_with_receiver() as (fake, _):
        fake.webhooks.reorder()
        fake.send_text()
        assert fake.webhooks.attempts == ()
        assert fake.balance.available + fake.balance.held == 100
        assert fake.webhooks.attempts == ()
        fake.settle()


def test_what_the_app_refuses_after_a_fault_comes_when_its_retries_say():
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        fake.webhooks.reorder()
        receiver.respond(409)
        began = fake.clock.now
        fake.send_text().deliver()
        assert [request.event.status for request in receiver.requests] == ["delivered", "sent"]
        fake.settle()

        came = [(request.event.status, request.number) for request in receiver.requests]
        assert came == [("delivered", 1), ("sent", 1), ("delivered", 2)]
        assert timedelta(seconds=60) == fake.clock.now - began


def test_without_a_fault_that_fires_retries_are_the_clocks_alone():
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        fault = fake.webhooks.reorder(start=9)
        receiver.respond(409)
        fake.send_text()
        fake.settle()
        assert [request.number for request in receiver.requests] == [1]
        fake.clock.advance(60)
        assert [request.number for request in receiver.requests] == [1, 2]
        fault.remove()
        fake.reset()


@pytest.mark.parametrize(
    ("fault", "seen"), [("refuse", [2, 3, 4]), ("lose_response", [1, 2, 3, 4])]
)
def test_an_attempt_that_a_fault_spoils_uses_up_no_retry(fault, seen):
    with fake_with_receiver(retry_after=[60, 300]) as (fake, receiver):
        getattr(fake.webhooks, fault)()
        receiver.respond(500, times=5)
        began = fake.clock.now
        fake.send_text()
        fake.settle()
        assert seen == [request.number for request in receiver.requests]
        assert timedelta(minutes=6) == fake.clock.now - began


def test_each_endpoint_has_a_choice_of_its_own():
    with frozen_fake() as fake:
        got = []
        fake.webhooks.connect(handler=lambda request: got.append(f"a {request.event.status}"))
        fake.webhooks.connect(handler=lambda request: got.append(f"b {request.event.status}"))
        fake.webhooks.reorder(start=1)
        Inside.let_wait(fake.webhooks.duplicate(after=1, start=4))
        fake.send_text().deliver()
        fake.settle()
        fake.send_text()

    expected = "b sent, a sent, a delivered, b delivered, a sent, b delivered, b sent"
    assert expected == ", ".join(got)


def test_only_one_deviation_concerns_an_attempt_and_the_others_count_it(fake, receiver):
    first = fake.webhooks.reorder()
    second = fake.webhooks.lose_response(start=2)
    third = fake.webhooks.refuse(start=1, times=2)
    message = fake.send_text().deliver().read()
    fake.settle()

    assert (first.fired, second.fired, third.fired) == (1, 1, 1)
    assert receiver.statuses(message) == ["delivered", "sent", "delivered", "read"]


def test_a_deviation_ends_with_its_block_and_what_it_holds_comes_later(fake, receiver):
    with fake.webhooks.reorder(by=2, times=None) as deviation:
        fake.send_text(to="+1")
    fake.send_text(to="+2")
    assert 1 == len(receiver.requests) == deviation.fired
    fake.settle()
    assert len(receiver.requests) == 2


def test_an_app_s_error_comes_back_though_its_answer_is_lost(fake):
    def app(_):
        raise LookupError("no such message")

    fake.webhooks.connect(handler=app)
    fake.webhooks.lose_response()
    with pytest.raises(LookupError, match="no such message"):
        fake.send_text()
    fake.reset()


def test_what_waits_is_forgotten_by_a_reset(fake, receiver):
    fake.webhooks.reorder(by=3)
    fake.webhooks.lose_response(start=2)
    fake.webhooks.concurrently(by=9, start=3)
    fake.send_text().deliver().read()
    fake.reset()
    fake.settle()
    fake.send_text()

    assert [event.status for event in receiver.events] == ["sent"]


@pytest.mark.parametrize(
    ("set_up", "before"),
    [
        (lambda w: w.reorder(), []),
        (lambda w: w.concurrently(by=1), []),
        (lambda w: w.duplicate(after=1), ["sent"]),
    ],
)
def test_what_waits_for_other_attempts_is_attempted_at_the_end(set_up, before):
    with fake_with_receiver() as (fake, receiver):
        set_up(fake.webhooks)
        fake.send_text()
        assert before == received_statuses(receiver)

    assert [*before, "sent"] == received_statuses(receiver)


def test_what_waits_for_the_clock_at_the_end_is_told_of():
    def scenario(fake):
        fake.webhooks.receiver()
        fake.webhooks.duplicate(pause=60)
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 event still queued: end the test with `chat_fake.settle()`:")
    assert "sent m1" in text


@pytest.mark.parametrize(
    ("verb", "error", "options"),
    [
        ("reorder", TypeError, {"after": 2}),
        ("duplicate", ValueError, {"pause": 1, "after": 1}),
        ("concurrently", TypeError, {"start": 2}),
        ("concurrently", TypeError, {"strat": 2, "by": 1}),
    ],
)
def test_arguments_that_exclude_each_other_change_nothing(fake, verb, error, options):
    with unchanged(fake), pytest.raises(error, match=rf"\b{next(iter(options))}\b"):
        getattr(fake.webhooks, verb)(**options)


def test_time_is_not_moved_for_a_repeat_that_nobody_waits_for():
    def scenario(fake):
        receiver = fake.webhooks.receiver()
        fake.webhooks.duplicate(pause=60)
        message = fake.send_text()
        before = fake.clock.now
        receiver.endpoint.disconnect()
        fake.settle()
        assert before == fake.clock.now
        assert receiver.statuses(message) == ["sent"]

    assert warnings_at_the_end(scenario) == []
