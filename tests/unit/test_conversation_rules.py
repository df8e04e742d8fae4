"""Grouping, the 24-hour session and its expiry (§1, §2.4, §8)."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake, IllegalTransition

from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable

ALICE, BOB = "+4915100001", "+4915100002"
DAY = timedelta(hours=24)
MILLISECOND = timedelta(milliseconds=1)


def expiries(message: Any) -> list[str]:
    """`expireTime` in each of the message's events."""
    bodies = [json.loads(event.body) for event in message.events]
    return [body["chatMessage"]["conversation"]["expireTime"] for body in bodies]


def concurrently(*messages: Any) -> bool:
    return len({message.conversation.id for message in messages}) == 1


# -- grouping --------------------------------------------------------------------------------------


def test_messages_to_one_recipient_share_a_pending_conversation(fake: ChatFake) -> None:
    assert concurrently(fake.send_text(to=ALICE), fake.send_text(to=ALICE))


@pytest.mark.parametrize("others", [{"to": BOB}, {"to": ALICE, "origin_type": "utility"}, {}])
def test_another_recipient_or_origin_type_has_a_conversation_of_its_own(
    fake: ChatFake, others: dict[str, Any]
) -> None:
    assert not concurrently(fake.send_text(to=ALICE), fake.send_text(**others))


def test_a_message_joins_the_open_session(fake: ChatFake) -> None:
    first = fake.send_text().deliver()
    fake.clock.advance(DAY - MILLISECOND)

    assert concurrently(first, fake.send_text())


def test_at_the_instant_of_expiry_a_new_conversation_begins(fake: ChatFake) -> None:
    first = fake.send_text().deliver()
    fake.clock.advance(DAY)

    second = fake.send_text()

    assert not concurrently(first, second)
    assert Decimal("0.05") == second.held


def test_the_origin_type_of_the_configuration_is_the_default() -> None:
    with frozen_fake(origin_type="utility", conversation_type="FREE") as fake:
        fake.send_text().deliver()

        conversation = json.loads(fake.events[-1].body)["chatMessage"]["conversation"]
        assert ("utility", "FREE") == (conversation["originType"], conversation["type"])


# -- a conversation of the test's own choosing -----------------------------------------------------


def test_a_hex_id_names_a_new_conversation(fake: ChatFake) -> None:
    first = fake.send_text(conversation="c0ffee")

    assert "c0ffee" == first.conversation.id
    assert ["c0ffee"] == [conversation.id for conversation in fake.conversations]


class Thread(str, Enum):  # noqa: UP042 - its text differs from its value
    """As users wrote enumerations of texts before ``StrEnum``."""

    SALE = "c0ffee"


def test_a_conversation_id_may_be_the_member_of_an_enumeration() -> None:
    with ChatFake() as fake:
        message = fake.send_text(conversation=Thread.SALE)

        assert "c0ffee" == message.events[0].json()["chatMessage"]["conversation"]["id"]


def test_nobody_in_particular_stays_nobody_in_a_conversation_with_somebody(
    fake: ChatFake,
) -> None:
    first = fake.send_text(to=fake.recipient(ALICE, devices=3))

    second = fake.send_text(conversation=first.conversation).deliver()

    assert ["sent", "delivered"] == [event.status for event in second.events]


def test_a_named_conversation_of_another_origin_type_is_refused(fake: ChatFake) -> None:
    first = fake.send_text()

    with pytest.raises(ValueError, match="marketing"):
        fake.send_text(conversation=first.conversation, origin_type="utility")

    assert (1, 1, 2) == (len(fake.messages), len(fake.events), len(fake.ledger))


def test_an_expired_conversation_takes_no_message(fake: ChatFake) -> None:
    first = fake.send_text().deliver()
    fake.clock.advance(DAY)
    before = (len(fake.messages), len(fake.events), len(fake.ledger))

    with pytest.raises(IllegalTransition):
        fake.send_text(conversation=first.conversation)
    assert before == (len(fake.messages), len(fake.events), len(fake.ledger))


# -- the charge of a session -----------------------------------------------------------------------


def test_a_message_into_an_open_conversation_holds_and_costs_nothing(fake: ChatFake) -> None:
    fake.send_text().deliver()
    before = len(fake.ledger)

    second = fake.send_text(price="9").deliver(price="9")

    assert before == len(fake.ledger)
    assert (0, 0) == (second.total_price, second.charged)


def test_of_two_pending_messages_the_one_delivered_first_is_charged(fake: ChatFake) -> None:
    first, second = fake.send_text(price="1"), fake.send_text(price="2")
    assert Decimal(3) == fake.balance.held

    second.deliver()
    assert (Decimal(1), Decimal(2)) == (fake.balance.held, fake.balance.charged)

    first.deliver()
    assert (0, Decimal(2)) == (fake.balance.held, fake.balance.charged)
    assert (0, 2) == (first.total_price, second.total_price)


def test_a_message_delivered_after_its_session_expired_is_not_charged(fake: ChatFake) -> None:
    first, second = fake.send_text(), fake.send_text()
    first.deliver()
    fake.clock.advance(days=2)

    second.deliver()

    assert (Decimal("0.05"), 0) == (fake.balance.charged, second.total_price)
    assert concurrently(first, second)


def test_an_id_that_a_test_has_given_is_left_out_where_the_service_gives_ids(
    fake: ChatFake,
) -> None:
    first = fake.send_text(to=ALICE).conversation
    assert first is not None
    fake.send_text(to=BOB, conversation=first.id[:-1] + "3")  # that of the third one
    fake.send_text(to=BOB, origin_type="utility")

    assert ["00000001", "00000003", "00000004"] == [one.id[-8:] for one in fake.conversations]


# -- expireTime ------------------------------------------------------------------------------------


def test_the_expiry_is_an_estimate_until_the_first_delivery_refreshes_it(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(hours=3)
    message.deliver()
    fake.clock.advance(hours=1)
    message.read()

    refreshed = "2026-01-02T15:00:00.000Z"
    assert ["2026-01-02T12:00:00.000Z", refreshed, refreshed] == expiries(message)


def lines_run_by(work: Callable[[], object]) -> int:
    """How many lines of Python are run meanwhile, those of a loop in each of its turns."""
    count = 0

    def trace(frame: object, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_a_message_costs_no_more_beside_thousands_of_conversations_than_beside_ten(
    fake: ChatFake,
) -> None:
    def beside(numbers: range) -> int:
        for number in numbers:
            fake.send_text(conversation=f"{number:x}")

        def send() -> None:
            fake.send_text(conversation=f"{numbers.stop:x}")
            fake.send_text(conversation="1")
            fake.send_text()

        return lines_run_by(send)

    ten = beside(range(1, 11))
    thousands = beside(range(12, 4_000))

    assert thousands < 2 * ten
