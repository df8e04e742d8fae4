"""Every way a message can go, and what the app makes of it."""

import sqlite3
from contextlib import closing

import pytest
from billing_flask.testing import Billing

from pytest_chatfake import ChatFake, Clock


def outcomes(billing: Billing) -> list[tuple[str, str]]:
    """Return the status in each webhook the app stored, and what it did with it."""
    with closing(sqlite3.connect(billing.app.config["DATABASE"])) as connection:
        return connection.execute("SELECT status, outcome FROM webhooks ORDER BY rowid").fetchall()


def test_a_message_is_followed_from_sent_to_read(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text("Sale ends today")
    assert billing.message(message.id)["status"] == "sent"

    message.deliver()
    assert billing.message(message.id)["status"] == "delivered"

    message.read()
    assert billing.message(message.id)["status"] == "read"


def test_a_message_read_at_once_counts_as_delivered_too(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text().read()

    chat_fake.assert_statuses(message, "sent", "read")
    known = billing.message(message.id)
    assert known["status"] == "read"
    assert known["deliveredAt"] is not None
    assert known["deliveredAt"] == known["readAt"]


def test_a_delivery_to_a_second_device_changes_nothing(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver()
    before = billing.message(message.id)

    message.deliver()

    assert billing.message(message.id) == before
    assert outcomes(billing)[-2:] == [("delivered", "applied"), ("delivered", "repeated")]


def test_a_second_device_that_comes_online_later_keeps_the_first_ones_time(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver()
    first = billing.message(message.id)["deliveredAt"]

    chat_clock.advance(hours=3)
    message.deliver()

    assert billing.message(message.id)["deliveredAt"] == first


def test_a_recipient_without_read_receipts_stays_delivered(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver()
    chat_clock.advance(days=365)
    assert billing.message(message.id)["status"] == "delivered"


def test_an_undeliverable_message_fails_after_it_was_sent(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text().fail()

    known = billing.message(message.id)
    assert known["status"] == "failed"
    assert known["error"]["code"] == "131026"
    assert known["price"] == "0"
    assert known["sentAt"] is not None


def test_a_message_that_was_never_sent_is_known_as_failed(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.submit_text("").reject()

    known = billing.message(message.id)
    assert known["status"] == "failed"
    assert known["error"] == {"code": "100", "message": "Parameter Invalid"}
    assert known["sentAt"] is None


def test_any_failure_code_is_kept_with_its_message(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text().fail(code="190001", message="Template paused")
    assert billing.message(message.id)["error"] == {
        "code": "190001",
        "message": "Template paused",
    }


@pytest.mark.chat_fake(event_ids="per-message")
def test_events_that_share_their_messages_id_are_all_taken(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver().read()

    assert len({event.id for event in message.events}) == 1
    assert billing.message(message.id)["status"] == "read"


def test_a_message_that_no_campaign_sent_is_followed_all_the_same(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver()
    assert billing.message(message.id)["campaign"] is None


def test_every_webhook_is_acknowledged_without_a_body(
    chat_fake: ChatFake, billing: Billing
) -> None:
    chat_fake.send_text().deliver(devices=2).read()
    chat_fake.submit_text().reject()

    answers = [(attempt.status_code, attempt.body) for attempt in chat_fake.webhooks.attempts]
    assert answers == [(204, b"")] * 5
