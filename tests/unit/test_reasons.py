"""Why a first arrival costs what it costs: each case has its own reasons, and no others."""

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
AGAIN = "not again"
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
