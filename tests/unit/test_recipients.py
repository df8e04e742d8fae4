"""Recipients, their devices and their read receipts (§3 and its rule 3)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

ALICE = "+4915100001"


def test_a_delivery_reaches_all_devices_of_the_recipient(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient(ALICE, devices=3)).deliver()

    assert ["sent", *["delivered"] * 3] == [event.status for event in message.events]


def test_a_delivery_reaches_only_the_devices_that_lack_the_message(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient(ALICE, devices=3)).deliver(devices=1)

    message.deliver()

    assert ["sent", *["delivered"] * 3] == [event.status for event in message.events]


def test_a_delivery_when_every_device_has_the_message_reaches_one_more(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient(ALICE, devices=2)).deliver().deliver()

    assert ["sent", *["delivered"] * 3] == [event.status for event in message.events]


def test_a_second_device_repeats_the_first_delivery_time(fake: ChatFake) -> None:
    message = fake.send_text().deliver()
    fake.clock.advance(hours=1)
    message.deliver()

    bodies = [json.loads(event.body) for event in message.events[1:]]
    assert ["2026-01-01T12:00:00.000Z"] * 2 == [b["chatMessage"]["deliverTime"] for b in bodies]
    assert ["2026-01-01T12:00:00.000Z", "2026-01-01T13:00:00.000Z"] == [
        body["createTime"] for body in bodies
    ]


def test_a_recipient_without_receipts_is_never_seen_to_read(fake: ChatFake) -> None:
    private = fake.recipient(ALICE, read_receipts=False)

    message = fake.send_text(to=private).deliver().read().read()

    assert "delivered" == message.status
    assert ["sent", "delivered"] == [event.status for event in message.events]


def test_reading_at_once_without_receipts_is_a_delivery(fake: ChatFake) -> None:
    private = fake.recipient(ALICE, devices=2, read_receipts=False)

    message = fake.send_text(to=private).read()

    assert ["sent", "delivered"] == [event.status for event in message.events]
    assert Decimal("0.05") == message.charged
