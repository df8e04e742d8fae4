"""Holds, charges and releases (§1, §2.3, §3 rule 5, §8), and what money accepts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from pytest_chatfake import ChatFake

from .fakes import frozen_fake
from .money_helpers import balances, decimals, ledger_entries

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def prices(message: Any) -> list[Decimal]:
    """`totalPrice` in each of the message's events."""
    bodies = [json.loads(event.body, parse_float=Decimal) for event in message.events]
    return [body["chatMessage"]["totalPrice"] for body in bodies]


# -- the life of a hold ----------------------------------------------------------------------------


def test_a_sent_message_holds_its_estimate(fake: ChatFake) -> None:
    message = fake.send_text()

    assert [("hold", Decimal("0.05"))] == ledger_entries(fake)
    assert decimals("99.95", "0.05", "0") == balances(fake)
    assert decimals("0.05", "0") == (message.held, message.charged)


def test_the_first_delivery_releases_the_hold_and_then_charges(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(minutes=5)

    message.deliver()

    assert [(k, Decimal("0.05")) for k in ("hold", "release", "charge")] == ledger_entries(fake)
    assert [NOON + timedelta(minutes=5)] * 2 == [entry.at for entry in fake.ledger[2:]]
    assert decimals("99.95", "0", "0.05") == balances(fake)
    assert decimals("0", "0.05") == (message.held, message.charged)


def test_a_second_device_is_not_charged_again(fake: ChatFake) -> None:
    message = fake.send_text().deliver(devices=3).deliver()

    assert decimals("99.95", "0", "0.05") == balances(fake)
    assert list(decimals("0.05", "0.05", "0.05", "0.05", "0.05")) == prices(message)


def test_a_failed_message_gives_its_hold_back_and_costs_nothing(fake: ChatFake) -> None:
    message = fake.send_text()
    fake.clock.advance(minutes=5)

    message.fail()

    assert [("hold", Decimal("0.05")), ("release", Decimal("0.05"))] == ledger_entries(fake)
    assert NOON + timedelta(minutes=5) == fake.ledger[-1].at
    assert decimals("100", "0", "0") == balances(fake)
    assert list(decimals("0.05", "0")) == prices(message)
    assert 0 == message.total_price


# -- prices ----------------------------------------------------------------------------------------


def test_every_digit_of_an_amount_is_kept() -> None:
    with frozen_fake(opening_balance="1234567890123456789.123456789") as fake:
        fake.send_text(price="0.0000000000000000000000000001").deliver()

        expected = Decimal("1234567890123456789.1234567889999999999999999999")
        assert expected == fake.balance.available


# -- what is charged -------------------------------------------------------------------------------


#: A message for 2, alone or beside one for 1 that was delivered before it was sent, or after that;
#: and what becomes of it. The prices that its events tell, and what is held and charged for it in
#: the end: by conversation, and where each message is charged.
CHARGED = """
alone                         | 2, 2 0       | 2, 2 0
alone deliver                 | 2 2, 0 2     | 2 2, 0 2
alone deliver=3               | 2 3, 0 3     | 2 3, 0 3
before                        | 0, 0 0       | 2, 2 0
before deliver                | 0 0, 0 0     | 2 2, 0 2
before deliver=3              | 0 0, 0 0     | 2 3, 0 3
before deliver=0              | 0 0, 0 0     | 2 0, 0 0
before read                   | 0 0, 0 0     | 2 2, 0 2
before deliver deliver=9 read | 0 0 0 0, 0 0 | 2 2 2 2, 0 2
before fail                   | 0 0, 0 0     | 2 0, 0 0
before 24 deliver             | 0 0, 0 0     | 2 2, 0 2
before 48 deliver=3           | 0 0, 0 0     | 2 3, 0 3
before 720                    | 0, 0 0       | 2, 0 0
after deliver                 | 2 0, 0 0     | 2 2, 0 2
after 720                     | 2, 0 0       | 2, 0 0
"""


def charged(fake: ChatFake, beside: str, *steps: str) -> str:
    other = fake.send_text(price="1", to="+1" if beside == "alone" else None)
    if beside == "before":
        other.deliver()
    message = fake.send_text(price="2")
    if beside == "after":
        other.deliver()
    for verb, _, price in (step.partition("=") for step in steps):
        if verb.isdigit():
            fake.clock.advance(hours=int(verb))
        else:
            getattr(message, verb)(**{"price": price} if price else {})
    return f"{' '.join(map(str, prices(message)))}, {message.held:f} {message.charged:f}"


def test_each_message_costs_what_the_table_says() -> None:
    for line in CHARGED.strip().splitlines():
        story, *columns = (cell.strip() for cell in line.split("|"))
        for charge_per, expected in zip(["conversation", "message"], columns, strict=True):
            with frozen_fake(charge_per=charge_per) as fake:
                assert (story, expected) == (story, charged(fake, *story.split()))


# -- too little money ------------------------------------------------------------------------------


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
