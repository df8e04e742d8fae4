"""A message has other statuses than the test expects."""

import pytest

pytestmark = pytest.mark.usefixtures("chat_clock")


def not_delivered(fake):
    return fake.send_text()


def delivered_twice(fake):
    return fake.send_text().deliver(devices=2)


def read_at_once(fake):
    return fake.send_text().read()


def read_without_receipts(fake):
    return fake.send_text(to=fake.recipient("+1", read_receipts=False)).deliver().read()


def too_dear(fake):
    return fake.send_text(price="101")


def scheduled(fake):
    message = fake.send_text()
    message.after(minutes=90).deliver().after(0.5).read()
    return message


def dropped(fake):
    message = fake.send_text()
    fake.clock.advance(days=30)
    return message


def to_a_phone_that_is_off(fake):
    fake.autopilot(deliver_after=30, read_after=0)
    return fake.send_text(to=fake.recipient("+1", online=False))


@pytest.mark.parametrize(
    ("message", "statuses"),
    [
        (not_delivered, "delivered"),
        (delivered_twice, "read"),
        (delivered_twice, "delivered"),
        (delivered_twice, "delivered delivered read"),
        (read_at_once, "delivered read"),
        (read_without_receipts, "delivered read"),
        (too_dear, "failed"),
        (scheduled, "read"),
        (dropped, "delivered"),
        (to_a_phone_that_is_off, "delivered"),
    ],
)
def test_a_message_has_its_statuses(chat_fake, message, statuses):
    chat_fake.assert_statuses(message(chat_fake), "sent", *statuses.split())


def test_a_message_that_was_sent_has_failed(chat_fake):
    chat_fake.assert_statuses(chat_fake.send_text(), "sent", "failed")
