"""Why a message costs what it costs: each case has its own reasons, and no others."""

# Asserts read `expected == actual`.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import ChatFake, Message

FIRST = "starts its session and is charged"
FINAL = "the delivery gave the final price"
NOTHING = "the price is 0"
AGAIN = "was already charged for"
ITS_HOLD = "it kept its hold until now"
LATE = "is over: it costs nothing"


def first(fake: ChatFake) -> Message:
    return fake.send_text().deliver()


def final(fake: ChatFake) -> Message:
    return fake.send_text().deliver(price="0.07")


def free(fake: ChatFake) -> Message:
    return fake.send_text(price=0).deliver()


def into_an_open_session(fake: ChatFake) -> Message:
    fake.send_text().deliver()
    return fake.send_text().deliver()


def second_of_two_pending(fake: ChatFake) -> Message:
    other, message = fake.send_text(), fake.send_text()
    other.deliver()
    return message.deliver()


def after_the_session(fake: ChatFake) -> Message:
    fake.send_text().deliver()
    message = fake.send_text()
    fake.clock.advance(hours=24)
    return message.deliver()


@pytest.mark.parametrize(
    ("arrival", "reasons"),
    [
        (first, {FIRST}),
        (final, {FINAL, FIRST}),
        (free, {NOTHING}),
        (into_an_open_session, {AGAIN}),
        (second_of_two_pending, {AGAIN, ITS_HOLD}),
        (after_the_session, {AGAIN, LATE}),
    ],
)
def test_a_first_arrival_has_its_reasons_and_no_others(
    arrival: Callable[[ChatFake], Message], reasons: set[str]
) -> None:
    with frozen_fake() as fake:
        text = fake.explain(arrival(fake))

    told = {one for one in (FIRST, FINAL, NOTHING, AGAIN, ITS_HOLD, LATE) if one in text}
    assert reasons == told


BEGINS = "it begins c1"
JOINS = "it joins c1"
PUT = "the test put it into c1"
DEFAULT = "is the default"
HELD = "is held until it is delivered"
FREE = "its price is 0: nothing is held"
OPEN = "c1 is open since m1 was delivered: it costs nothing"


def a_new_one(fake: ChatFake) -> Message:
    return fake.send_text(price="0.07")


def a_new_one_at_the_default_price(fake: ChatFake) -> Message:
    return fake.send_text()


def a_new_one_that_is_free(fake: ChatFake) -> Message:
    return fake.send_text(price=0)


def a_new_one_of_that_name(fake: ChatFake) -> Message:
    return fake.send_text(conversation="c0ffee", price="0.07")


def another_to_the_same_person(fake: ChatFake) -> Message:
    fake.send_text()
    return fake.send_text(price="0.07")


def another_that_is_free(fake: ChatFake) -> Message:
    fake.send_text()
    return fake.send_text(price=0)


def another_in_the_session(fake: ChatFake) -> Message:
    fake.send_text().deliver()
    return fake.send_text(price="0.07")


def another_into_the_conversation(fake: ChatFake) -> Message:
    return fake.send_text(conversation=fake.send_text().conversation, price="0.07")


def another_into_the_session(fake: ChatFake) -> Message:
    return fake.send_text(conversation=fake.send_text().deliver().conversation, price="0.07")


@pytest.mark.parametrize(
    ("sending", "reasons"),
    [
        (a_new_one, {BEGINS, HELD}),
        (a_new_one_at_the_default_price, {BEGINS, DEFAULT, HELD}),
        (a_new_one_that_is_free, {BEGINS, FREE}),
        (a_new_one_of_that_name, {BEGINS, HELD}),
        (another_to_the_same_person, {JOINS, HELD}),
        (another_that_is_free, {JOINS, FREE}),
        (another_in_the_session, {JOINS, OPEN}),
        (another_into_the_conversation, {PUT, HELD}),
        (another_into_the_session, {PUT, OPEN}),
    ],
)
def test_what_is_held_for_a_sent_message_has_its_reasons_and_no_others(
    sending: Callable[[ChatFake], Message], reasons: set[str]
) -> None:
    with frozen_fake() as fake:
        text = fake.explain(sending(fake))

    told = {one for one in (BEGINS, JOINS, PUT, DEFAULT, HELD, FREE, OPEN) if one in text}
    assert reasons == told


DEVICE = "another device got it"
READING = "reading costs nothing"
AT_ONCE = "read at once"
PRIVATE = "without read receipts"
NOT_SENT = "before it was sent"
NO_CHARGE = "failed messages are not charged"
BACK = "what was held for it comes back at once"
DROPPED = "and dropped"


def another_device(fake: ChatFake) -> Message:
    return fake.send_text().deliver().deliver(devices=2)


def reading(fake: ChatFake) -> Message:
    return fake.send_text().deliver().read()


def reading_at_once(fake: ChatFake) -> Message:
    return fake.send_text().read()


def reading_in_private(fake: ChatFake) -> Message:
    fake.recipient("+1", read_receipts=False)
    return fake.send_text(to="+1").read()


def a_rejection(fake: ChatFake) -> Message:
    return fake.submit_text().reject()


def a_failure(fake: ChatFake) -> Message:
    return fake.send_text().fail()


def a_failure_of_what_is_free(fake: ChatFake) -> Message:
    return fake.send_text(price=0).fail()


def a_drop(fake: ChatFake) -> Message:
    message = fake.send_text()
    fake.clock.advance(days=30)
    return message


@pytest.mark.parametrize(
    ("what", "reasons"),
    [
        (another_device, {DEVICE}),
        (reading, {READING}),
        (reading_at_once, {AT_ONCE}),
        (reading_in_private, {PRIVATE}),
        (a_rejection, {NOT_SENT}),
        (a_failure, {NO_CHARGE, BACK}),
        (a_failure_of_what_is_free, {NO_CHARGE}),
        (a_drop, {DROPPED}),
    ],
)
def test_what_else_happens_to_a_message_has_its_reasons_and_no_others(
    what: Callable[[ChatFake], Message], reasons: set[str]
) -> None:
    with frozen_fake() as fake:
        text = fake.explain(what(fake))

    every = (DEVICE, READING, AT_ONCE, PRIVATE, NOT_SENT, NO_CHARGE, BACK, DROPPED)
    assert reasons == {one for one in every if one in text}
