"""Holds, charges and releases (§1, §2.3, §3 rule 5, §8), and what money accepts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pytest_chatfake import ChatFake, IllegalTransition

from .fakes import frozen_fake
from .money_helpers import balances, decimals, ledger_entries

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def prices(message: Any) -> list[Decimal]:
    """`totalPrice` in each of the message's events."""
    bodies = [json.loads(event.body, parse_float=Decimal) for event in message.events]
    return [body["chatMessage"]["totalPrice"] for body in bodies]


# -- the life of a hold ----------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["0", "100", 7, Decimal("0.10")])
def test_the_ledger_opens_with_the_opening_balance_whatever_it_is(opening: Any) -> None:
    with frozen_fake(opening_balance=opening) as fake:
        entry = fake.ledger[0]

        assert ("opening", Decimal(opening), NOON) == (entry.kind, entry.amount, entry.at)
        assert (None, None) == (entry.message_id, entry.conversation_id)
        assert (Decimal(opening), 0, 0) == balances(fake)


def test_a_sent_message_holds_its_estimate(fake: ChatFake) -> None:
    message = fake.send_text()

    assert [("hold", Decimal("0.05"))] == ledger_entries(fake)
    assert decimals("99.95", "0.05", "0") == balances(fake)
    assert decimals("0.05", "0") == (message.held, message.charged)


def test_a_submission_holds_nothing_until_it_is_accepted(fake: ChatFake) -> None:
    submission = fake.submit_text()
    assert [] == ledger_entries(fake)

    submission.accept()

    assert [("hold", Decimal("0.05"))] == ledger_entries(fake)


def test_the_first_delivery_releases_the_hold_and_then_charges(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(minutes=5)

    message.deliver()

    assert [(k, Decimal("0.05")) for k in ("hold", "release", "charge")] == ledger_entries(fake)
    assert [NOON + timedelta(minutes=5)] * 2 == [entry.at for entry in fake.ledger[2:]]
    assert decimals("99.95", "0", "0.05") == balances(fake)
    assert decimals("0", "0.05") == (message.held, message.charged)


def test_every_entry_of_a_message_names_it_and_its_conversation(fake: ChatFake) -> None:
    message = fake.send_text().deliver()

    named = {(entry.message_id, entry.conversation_id) for entry in fake.ledger[1:]}
    assert {(message.id, message.conversation.id)} == named


def test_reading_at_once_charges_as_a_delivery_does(fake: ChatFake) -> None:
    message = fake.send_text().read()

    assert ["hold", "release", "charge"] == [kind for kind, _ in ledger_entries(fake)]
    assert Decimal("0.05") == message.charged


def test_a_second_device_is_not_charged_again(fake: ChatFake) -> None:
    message = fake.send_text().deliver(devices=3).deliver()

    assert decimals("99.95", "0", "0.05") == balances(fake)
    assert list(decimals("0.05", "0.05", "0.05", "0.05", "0.05")) == prices(message)


def test_reading_a_delivered_message_costs_nothing_more(fake: ChatFake) -> None:
    message = fake.send_text().deliver()
    before = len(fake.ledger)

    message.read()

    assert [] == ledger_entries(fake, before)


def test_a_failed_message_gives_its_hold_back_and_costs_nothing(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(minutes=5)

    message.fail()

    assert [("hold", Decimal("0.05")), ("release", Decimal("0.05"))] == ledger_entries(fake)
    assert NOON + timedelta(minutes=5) == fake.ledger[-1].at
    assert decimals("100", "0", "0") == balances(fake)
    assert list(decimals("0.05", "0")) == prices(message)
    assert 0 == message.total_price


def test_a_rejected_submission_never_touches_the_ledger(fake: ChatFake) -> None:
    message = fake.submit_text().reject()

    assert [] == ledger_entries(fake)
    assert [0] == prices(message)


def test_a_message_left_sent_gives_its_hold_back_after_30_days_in_silence(fake: ChatFake) -> None:
    message = fake.send_text()

    fake.clock.advance(days=31)

    assert [("hold", Decimal("0.05")), ("release", Decimal("0.05"))] == ledger_entries(fake)
    assert NOON + timedelta(days=30) == fake.ledger[-1].at
    assert ["sent"] == [event.status for event in message.events]
    assert ("sent", True) == (message.status, message.dropped)
    assert decimals("100", "0", "0") == balances(fake)


def test_the_hold_stays_until_the_very_instant_of_the_drop(fake: ChatFake) -> None:
    message = fake.send_text()

    fake.clock.advance(timedelta(days=30) - timedelta(microseconds=1))
    assert (Decimal("0.05"), False) == (fake.balance.held, message.dropped)

    fake.clock.advance(microseconds=1)
    assert (0, True) == (fake.balance.held, message.dropped)


def test_a_delivery_just_before_the_drop_is_charged_and_nothing_is_dropped_after_it(
    fake: ChatFake,
) -> None:
    message = fake.send_text()
    fake.clock.advance(timedelta(days=30) - timedelta(milliseconds=1))

    message.deliver()
    fake.clock.advance(days=1)

    assert not message.dropped
    assert ["hold", "release", "charge"] == [kind for kind, _ in ledger_entries(fake)]


def test_a_delivery_at_the_instant_of_the_drop_comes_too_late(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(days=30)

    with pytest.raises(IllegalTransition):
        message.deliver()

    assert decimals("100", "0", "0") == balances(fake)


@pytest.mark.parametrize("drop_after", [timedelta(hours=1), 3600])
def test_the_time_to_the_drop_is_a_knob(drop_after: Any) -> None:
    with frozen_fake(drop_after=drop_after) as fake:
        message = fake.send_text()
        assert NOON + timedelta(hours=1) == fake.clock.next_due

        fake.clock.move_to(fake.clock.next_due)

        assert message.dropped
        assert fake.clock.next_due is None


def test_each_message_is_dropped_at_its_own_time_in_order(fake: ChatFake) -> None:
    first = fake.send_text(to="+4915100001", price="1")
    fake.clock.advance(hours=1)
    second = fake.send_text(to="+4915100002", price="2")

    fake.clock.advance(days=60)

    releases = [(e.message_id, e.at) for e in fake.ledger if e.kind == "release"]
    due = NOON + timedelta(days=30)
    assert [(first.id, due), (second.id, due + timedelta(hours=1))] == releases


# -- prices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", ["0.07", Decimal("0.07")])
def test_a_price_on_the_call_replaces_the_configured_one(fake: ChatFake, price: Any) -> None:
    message = fake.send_text(price=price).deliver()

    assert list(decimals("0.07", "0.07")) == prices(message)
    assert Decimal("0.07") == message.charged


def test_the_final_price_may_differ_from_the_estimate(fake: ChatFake) -> None:
    message = fake.send_text().deliver(price="0.0725")

    expected = [("hold", "0.05"), ("release", "0.05"), ("charge", "0.0725")]
    assert [(kind, Decimal(amount)) for kind, amount in expected] == ledger_entries(fake)
    assert list(decimals("0.05", "0.0725")) == prices(message)
    assert Decimal("0.0725") == message.total_price


def test_the_final_price_stays_final(fake: ChatFake) -> None:
    message = fake.send_text().deliver(price="0.06").deliver(price="0.99").read()

    assert list(decimals("0.05", "0.06", "0.06", "0.06")) == prices(message)
    assert Decimal("0.06") == fake.balance.charged


def test_a_message_for_nothing_posts_nothing(fake: ChatFake) -> None:
    message = fake.send_text(price="0").deliver()

    assert [] == ledger_entries(fake)
    assert [0, 0] == prices(message)


def test_a_message_sent_for_nothing_can_still_turn_out_to_cost(fake: ChatFake) -> None:
    fake.send_text(price="0").deliver(price="0.05")

    assert [("charge", Decimal("0.05"))] == ledger_entries(fake)


def test_a_message_that_turns_out_to_cost_nothing_only_releases_its_hold(fake: ChatFake) -> None:
    fake.send_text().deliver(price="0")

    assert ["hold", "release"] == [kind for kind, _ in ledger_entries(fake)]
    assert decimals("100", "0", "0") == balances(fake)


def test_every_digit_of_an_amount_is_kept() -> None:
    with frozen_fake(opening_balance="1234567890123456789.123456789") as fake:
        fake.send_text(price="0.0000000000000000000000000001").deliver()

        expected = Decimal("1234567890123456789.1234567889999999999999999999")
        assert expected == fake.balance.available


# -- too little money ------------------------------------------------------------------------------


def test_a_low_balance_is_allowed_to_go_below_zero(fake: ChatFake) -> None:
    fake.set_balance("0.01")

    message = fake.send_text()

    assert "sent" == message.status
    assert Decimal("-0.04") == fake.balance.available


def test_a_low_balance_can_fail_the_message_before_it_is_sent() -> None:
    with frozen_fake(opening_balance="0.04", on_insufficient_balance="fail") as fake:
        message = fake.send_text()

        resource = json.loads(fake.events[-1].body)["chatMessage"]
        assert "failed" == message.status
        assert ["failed"] == [event.status for event in fake.events]
        assert "BALANCE_INSUFFICIENT" == resource["errorCode"]
        assert not {"conversation", "createTime", "sendTime"} & resource.keys()
        assert [] == ledger_entries(fake)
        assert () == tuple(fake.conversations)
        assert message.conversation is None


def test_the_code_of_a_low_balance_is_a_knob() -> None:
    with frozen_fake(
        opening_balance="0", on_insufficient_balance="fail", insufficient_balance_code="E402"
    ) as fake:
        fake.send_text()

        assert "E402" == json.loads(fake.events[-1].body)["chatMessage"]["errorCode"]


def test_a_balance_that_just_suffices_suffices() -> None:
    with frozen_fake(opening_balance="0.05", on_insufficient_balance="fail") as fake:
        assert "sent" == fake.send_text().status
        # The hold is not available, so the next recipient's message finds nothing left.
        assert "failed" == fake.send_text(to="+4915100001").status


def test_a_message_into_an_open_conversation_needs_no_money() -> None:
    with frozen_fake(opening_balance="0.05", on_insufficient_balance="fail") as fake:
        fake.send_text().deliver()

        assert "sent" == fake.send_text().status
