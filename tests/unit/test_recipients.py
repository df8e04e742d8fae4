"""Recipients, their devices and their read receipts (§3 and its rule 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

ALICE = "+4915100001"


def test_a_delivery_reaches_only_the_devices_that_lack_the_message(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient(ALICE, devices=3)).deliver(devices=1)

    message.deliver()

    assert ["sent", *["delivered"] * 3] == [event.status for event in message.events]


def test_a_recipient_without_receipts_is_never_seen_to_read(fake: ChatFake) -> None:
    private = fake.recipient(ALICE, read_receipts=False)

    message = fake.send_text(to=private).deliver().read().read()

    assert "delivered" == message.status
    assert ["sent", "delivered"] == [event.status for event in message.events]
