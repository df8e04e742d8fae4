"""Attempts that come late, again, unheard or refused: counted where they are made."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake

from .fakes import attempt_rows, fake_with_receiver, frozen_fake, visible_state, warnings_at_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

SetUp = "Callable[[ChatFake], object]"

#: What is set up, and the statuses that the app gets of sent, delivered, read and then settle().
ORDERS: list[tuple[str, Any, str]] = [
    ("late", lambda w: w.reorder(), "delivered sent read"),
    ("late by 2", lambda w: w.reorder(by=2), "delivered read sent"),
    ("late, the second", lambda w: w.reorder(start=2), "sent read delivered"),
    ("late, the last", lambda w: w.reorder(start=3), "sent delivered read"),
    ("late by more than there are", lambda w: w.reorder(by=9), "delivered read sent"),
    ("late, all of them", lambda w: w.reorder(times=None), "sent delivered read"),
    ("late, by status", lambda w: w.reorder(status="delivered"), "sent read delivered"),
    ("again at once", lambda w: w.duplicate(after=0), "sent sent delivered read"),
    ("again after 1", lambda w: w.duplicate(after=1), "sent delivered sent read"),
    ("again after 2", lambda w: w.duplicate(after=2), "sent delivered read sent"),
    ("again, the last", lambda w: w.duplicate(after=0, start=3), "sent delivered read read"),
    ("response lost", lambda w: w.lose_response(), "sent delivered read sent"),
    ("answer lost, the last", lambda w: w.lose_response(start=3), "sent delivered read read"),
    ("refused", lambda w: w.refuse(), "delivered read sent"),
    ("refused, the second", lambda w: w.refuse(start=2), "sent read delivered"),
    ("refused for good", lambda w: w.drop(), "delivered read"),
    ("two late", lambda w: (w.reorder(by=2), w.reorder(by=1, start=2)), "read delivered sent"),
    ("late and again", lambda w: (w.reorder(), w.duplicate(after=0, start=2)),
     "delivered sent delivered read"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("set_up", "expected"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS]
)
def test_attempts_come_in_the_order_that_was_asked_for(
    set_up: Any, expected: str, mode: str
) -> None:
    async def chain(fake: ChatFake) -> None:
        await fake.send_text().deliver().read()
        await fake.settle()

    with frozen_fake(mode=mode) as fake:
        got: list[str] = []
        fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
        set_up(fake.webhooks)
        if mode == "async":
            asyncio.run(chain(fake))
        else:
            fake.send_text().deliver().read()
            fake.settle()

    assert expected.split() == got


def test_a_lost_answer_is_recorded_as_a_failure_though_the_app_has_acted() -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.lose_response()
        fake.send_text()
        fake.settle()

        assert 2 == len(receiver.requests)
        assert [("sent", 1, "lose_response", None), ("sent", 2, None, 200)] == attempt_rows(fake)
        assert isinstance(fake.webhooks.attempts[0].error, TimeoutError)


def test_a_refused_attempt_never_reaches_the_app() -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.refuse()
        fake.send_text()
        assert 0 == len(receiver.requests)
        fake.settle()

        assert [2] == [request.number for request in receiver.requests]
        assert [("sent", 1, "refuse", None), ("sent", 2, None, 200)] == attempt_rows(fake)
        assert isinstance(fake.webhooks.attempts[0].error, ConnectionRefusedError)


def test_what_comes_late_or_again_is_told_apart_in_the_attempts() -> None:
    with fake_with_receiver() as (fake, _):
        fake.webhooks.reorder()
        fake.webhooks.duplicate(after=0, start=2)
        fake.send_text().deliver()
        fake.settle()

        assert [
            ("delivered", 1, None, 200),
            ("sent", 1, "reorder", 200),
            ("delivered", 1, "duplicate", 200),
        ] == attempt_rows(fake)


BARRIERS: dict[str, Callable[[ChatFake], object]] = {
    "settle": lambda fake: fake.settle(),
    "assertion": lambda fake: fake.assert_charged("0"),
    "advance": lambda fake: fake.clock.advance(seconds=0),
    "move_to": lambda fake: fake.clock.move_to(fake.clock.now),
}


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("kind", ["reorder", "lose_response", "refuse"])
def test_nothing_waits_past_a_barrier_but_a_duplicate(barrier: str, kind: str) -> None:
    with fake_with_receiver() as (fake, receiver):
        getattr(fake.webhooks, kind)()
        fake.webhooks.duplicate(after=2, start=2)
        fake.send_text("+1", to="+1")
        fake.send_text("+2", to="+2")
        before = len(receiver.requests)
        BARRIERS[barrier](fake)

        assert {"reorder": 2, "lose_response": 2, "refuse": 1}[kind] == before
        assert {"reorder": 2, "lose_response": 3, "refuse": 2}[kind] == len(receiver.requests)
        fake.send_text(to="+3")  # the second one that the duplicate waits for
        assert "+2" == receiver.requests[-1].json()["chatMessage"]["text"]["body"]


def test_a_read_of_results_is_no_barrier() -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.reorder()
        fake.send_text()
        assert (1, "100.00") == (
            len(fake.messages),
            str(fake.balance.available + fake.balance.held),
        )
        assert 0 == len(fake.webhooks.attempts) == len(receiver.requests)
        fake.settle()


def test_late_attempts_come_at_a_barrier_before_what_has_failed() -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.refuse()
        fake.webhooks.reorder(by=5, start=2)
        message = fake.send_text().deliver().read()
        fake.settle()

        assert ["read", "delivered", "sent"] == receiver.statuses(message)


def test_a_planned_retry_comes_at_the_barrier_and_time_stands() -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        fake.webhooks.reorder(start=9)  # something deviates, so retries are not the clock's
        receiver.respond(409)
        now = fake.clock.now
        fake.send_text()
        assert None is not fake.clock.next_due  # the drop, in 30 days
        fake.settle()

        assert [1, 2] == [request.number for request in receiver.requests]
        assert now == fake.clock.now
        fake.webhooks._outbox.faults.clear()


def test_without_deviations_a_retry_is_the_clocks() -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        receiver.respond(409)
        fake.send_text()
        fake.settle()
        assert 1 == len(receiver.requests)
        fake.clock.advance(60)
        assert 2 == len(receiver.requests)


def test_a_repeat_that_fails_is_made_again_as_often_as_retries_say() -> None:
    with fake_with_receiver(retry_after=[60, 60]) as (fake, receiver):
        fake.webhooks.refuse()
        receiver.respond(500, times=5)
        fake.send_text()
        fake.settle()
        assert [2, 3] == [request.number for request in receiver.requests]


def test_each_endpoint_has_a_choice_of_its_own() -> None:
    with frozen_fake() as fake:
        got: list[str] = []
        fake.webhooks.connect(handler=lambda request: got.append(f"a {request.event.status}"))
        fake.webhooks.connect(handler=lambda request: got.append(f"b {request.event.status}"))
        fake.webhooks.reorder(start=1)
        fake.webhooks.duplicate(after=1, start=4)
        fake.send_text().deliver()
        fake.settle()
        fake.send_text()

    assert [
        "b sent",
        "a sent",
        "a delivered",
        "b delivered",
        "a sent",
        "b delivered",
        "b sent",
    ] == got


def test_only_one_deviation_concerns_an_attempt_and_the_others_count_it() -> None:
    with fake_with_receiver() as (fake, receiver):
        first = fake.webhooks.reorder()
        second = fake.webhooks.duplicate(after=0, start=2)
        third = fake.webhooks.refuse(start=1, times=2)
        message = fake.send_text().deliver().read()
        fake.settle()

        assert (1, 1, 1) == (first.fired, second.fired, third.fired)
        assert ["delivered", "sent", "delivered", "read"] == receiver.statuses(message)


def test_a_deviation_ends_with_its_block_and_what_it_holds_comes_later() -> None:
    with fake_with_receiver() as (fake, receiver):
        with fake.webhooks.reorder(by=2, times=None) as deviation:
            fake.send_text(to="+1")
        fake.send_text(to="+2")
        assert 1 == len(receiver.requests) == deviation.fired
        fake.settle()
        assert 2 == len(receiver.requests)


def test_an_app_s_error_comes_back_though_its_answer_is_lost() -> None:
    def app(_: object) -> None:
        raise LookupError("no such message")

    with frozen_fake() as fake:
        fake.webhooks.connect(handler=app)
        fake.webhooks.lose_response()
        with pytest.raises(LookupError, match="no such message"):
            fake.send_text()
        fake.reset()


def test_what_waits_is_forgotten_by_a_reset() -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.reorder(by=3)
        fake.webhooks.lose_response(start=2)
        fake.send_text().deliver()
        fake.reset()
        fake.settle()
        fake.send_text()

        assert ["sent"] == [event.status for event in receiver.events]


def test_what_still_waits_at_the_end_is_warned_about_with_its_line() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.receiver()
        fake.webhooks.reorder()
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert "1 event still queued" in text
    assert "sent of message" in text


def test_one_that_never_came_to_its_turn_is_warned_about() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.receiver()
        fake.webhooks.reorder(by=2, start=4)
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert "reorder(by=2, start=4)" in text


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda w: w.reorder(by=0), ValueError, "by: expected an int of at least 1"),
        (lambda w: w.reorder(by="2"), TypeError, "by: expected an int"),
        (lambda w: w.reorder(after=2), TypeError, "reorder.. got an unexpected argument 'after'"),
        (lambda w: w.duplicate(after=-1), ValueError, "after: expected an int of at least 0"),
        (lambda w: w.duplicate(after=1.5), TypeError, "after: expected an int"),
        (lambda w: w.lose_response(start=0), ValueError, "start: expected an int of at least 1"),
        (lambda w: w.refuse(times=0), ValueError, "times: expected an int of at least 1"),
    ],
)
def test_a_bad_argument_is_refused_and_changes_nothing(call: Any, error: Any, words: str) -> None:
    with fake_with_receiver() as (fake, _):
        fake.send_text()
        before = visible_state(fake)
        with pytest.raises(error, match=words):
            call(fake.webhooks)
        assert before == visible_state(fake)


def test_a_deviation_is_shown_as_it_was_written() -> None:
    with frozen_fake() as fake:
        shown = [
            fake.webhooks.reorder(by=2, start=3).description,
            fake.webhooks.duplicate(after=0).description,
            fake.webhooks.drop(status="read").description,
            fake.webhooks.lose_response(start=2).description,
        ]
        fake.webhooks._outbox.faults.clear()
    assert [
        "reorder(by=2, start=3)",
        "duplicate(after=0)",
        "drop(status='read')",
        "lose_response(start=2)",
    ] == shown


def test_time_is_not_moved_for_a_repeat_that_nobody_waits_for() -> None:
    def scenario(fake: ChatFake) -> None:
        receiver = fake.webhooks.receiver()
        fake.webhooks.duplicate(pause=60)
        message = fake.send_text()
        before = fake.clock.now
        receiver.endpoint.disconnect()
        fake.settle()
        assert before == fake.clock.now
        assert ["sent"] == receiver.statuses(message)

    assert [] == warnings_at_the_end(scenario)
