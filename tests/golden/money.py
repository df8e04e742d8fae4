"""What messages cost is not what the test expects."""

import pytest

pytestmark = pytest.mark.usefixtures("chat_clock")


def send_to_many(fake, count=14):
    for number in range(count):
        fake.send_text(to=f"+{number}")


def send_in_pairs(fake):
    for number in range(7):
        for _ in range(2):
            fake.send_text(to=f"+{number}").deliver()


# One message


def not_delivered(fake):
    return fake.send_text()


def in_an_open_session(fake):
    fake.send_text().deliver()
    return fake.send_text().deliver()


def in_a_session_that_is_over(fake):
    message = in_an_open_session(fake)
    fake.clock.advance(hours=24)
    return message


def read_after_the_second(fake):
    first, second = fake.send_text(to="+1"), fake.send_text(to="+1")
    second.deliver()
    return first.read()


def failed(fake):
    return fake.send_text().fail()


def rejected(fake):
    return fake.submit_text().reject()


def scheduled(fake):
    message = fake.send_text()
    message.after(minutes=90).deliver()
    return message


def to_a_phone_that_is_off(fake):
    fake.autopilot(deliver_after=30, read_after=0)
    return fake.send_text(to=fake.recipient("+1", online=False))


def scheduled_for_a_phone_that_is_off(fake):
    message = fake.send_text(to=fake.recipient("+1", online=False))
    message.after(minutes=90).deliver()
    return message


def to_somebody_who_blocked_us(fake):
    fake.autopilot(deliver_after=30, read_after=30)
    person = fake.recipient("+1").blocks()
    message = fake.send_text(to=person)
    person.unblocks()
    return message


def about_to_fail(fake):
    message = fake.send_text()
    message.after(days=2).fail()
    return message


def free(fake):
    return fake.send_text(price=0)


def free_and_delivered(fake):
    return free(fake).deliver()


def dropped(fake):
    message = fake.send_text()
    fake.clock.advance(days=30)
    return message


CHARGED = [
    not_delivered,
    in_an_open_session,
    in_a_session_that_is_over,
    read_after_the_second,
    failed,
    rejected,
    scheduled,
    to_a_phone_that_is_off,
    scheduled_for_a_phone_that_is_off,
    to_somebody_who_blocked_us,
    about_to_fail,
    free_and_delivered,
]


@pytest.mark.parametrize("message", CHARGED)
def test_a_message_is_charged(chat_fake, message):
    chat_fake.assert_charged("0.50", message=message(chat_fake))


@pytest.mark.parametrize("message", [not_delivered, about_to_fail, failed, free, dropped])
def test_a_price_is_held(chat_fake, message):
    chat_fake.assert_held("0.50", message=message(chat_fake))


# The account


def test_nobody_was_written_to(chat_fake):
    chat_fake.assert_charged("0.05")


def test_a_campaign_is_charged(chat_fake):
    send_to_many(chat_fake)
    chat_fake.assert_charged("0.70")


def test_each_message_of_a_session_is_charged(chat_fake):
    send_in_pairs(chat_fake)
    chat_fake.assert_charged("0.70")


@pytest.mark.chat_fake(currency="EUR")
def test_each_device_is_charged(chat_fake):
    chat_fake.send_text().deliver(devices=2)
    chat_fake.clock.advance(60)
    chat_fake.send_text(to="+2").fail()
    chat_fake.assert_charged("0.10")


def test_nothing_is_charged(chat_fake):
    in_an_open_session(chat_fake)
    chat_fake.assert_charged(0)


def test_nothing_of_a_campaign_is_held(chat_fake):
    send_to_many(chat_fake)
    chat_fake.assert_held(0)


def test_nothing_is_held_in_a_session(chat_fake):
    in_an_open_session(chat_fake)
    not_delivered(chat_fake)
    chat_fake.send_text(to="+2")
    chat_fake.assert_held(0)


def test_nothing_is_held_for_a_message_that_fails_in_two_days(chat_fake):
    about_to_fail(chat_fake)
    chat_fake.assert_held(0)


@pytest.mark.parametrize("balance", [1, 100])
def test_a_hold_is_available(chat_fake, balance):
    about_to_fail(chat_fake)
    chat_fake.assert_available(balance)


@pytest.mark.chat_fake(charge_per="message")
def test_free_messages_are_charged(chat_fake):
    in_an_open_session(chat_fake)
    not_delivered(chat_fake)
    free(chat_fake).deliver()
    chat_fake.assert_charged(1)


@pytest.mark.asyncio
async def test_an_async_test_has_a_move_to_paste(chat_fake):
    message = await chat_fake.send_text()
    await message.after(hours=1, seconds=29.9999).deliver()
    chat_fake.assert_charged("0.05")


def test_a_reminder_is_charged_in_its_block(chat_fake):
    chat_fake.send_text().deliver(devices=2)
    with chat_fake.expect_charge("0.05"):
        chat_fake.send_text(to="+2")


def test_what_was_charged_is_no_more_available(chat_fake):
    chat_fake.send_text(price="0.5").deliver()
    chat_fake.send_text(to="+2", price=12).deliver()
    chat_fake.assert_available(100)
