"""The app's own numbers are wrong, and nothing is odd."""

import pytest

pytestmark = pytest.mark.usefixtures("chat_clock")


def final_price(fake):
    fake.send_text(price="0.10").deliver(price="0.07")


def two_devices(fake):
    fake.send_text(to="+1").deliver(devices=2).read()
    fake.send_text(to="+2")


def one_session(fake):
    fake.send_text().deliver()
    fake.send_text().deliver().read()


def free(fake):
    fake.send_text(price=0).deliver()


def inbound(fake):
    fake.recipient("+1").writes("STOP")


def dropped(fake):
    fake.send_text()
    fake.clock.advance(days=30)


def sent(fake):
    fake.send_text()


def rejected(fake):
    fake.submit_text().reject()


def made_up(fake):
    fake.webhooks.emit(fake.send_text(), "sent", raw=b"{broken")


def scheduled(fake):
    fake.autopilot(deliver_after=60, read_after=30)
    for number in range(3):
        fake.send_text(to=f"+{number}")


HAPPENS = [
    final_price,
    two_devices,
    one_session,
    free,
    inbound,
    dropped,
    sent,
    rejected,
    made_up,
    scheduled,
]


@pytest.mark.parametrize("happens", HAPPENS)
def test_the_fake_books_an_amount(chat_fake, happens):
    chat_fake.webhooks.receiver(events="*")
    happens(chat_fake)
    assert 0.1 == 0.05


ERRORS = {
    "an amount": (AssertionError, "assert Decimal('0.10') == Decimal('0.05')"),
    "a time": (AssertionError, "assert '12:00:00.500' == '127.0.0.1, 3.11.2'"),
    "a missing row": (IndexError, "list index out of range"),
    "an attribute": (AttributeError, "no attribute 'delivr'"),
    "a type": (TypeError, "can't compare 0.1 and 'a'"),
}


@pytest.mark.parametrize("app", ["app", "no app"])
@pytest.mark.parametrize("what", ERRORS)
def test_a_test_fails_over(chat_fake, what, app):
    if app == "app":
        chat_fake.webhooks.receiver()
    chat_fake.send_text().deliver()
    error, text = ERRORS[what]
    raise error(text)


def test_a_message_is_refused(chat_fake):
    chat_fake.send_text().read().fail()


def test_an_argument_is_refused(chat_fake):
    chat_fake.send_text().deliver(devices=1.5)


def test_two_expectations_fail(chat_fake, chat_receiver):
    one_session(chat_fake)
    chat_fake.send_text(to="+2")
    for message in chat_fake.messages:
        with pytest.raises(AssertionError):
            chat_fake.assert_charged(7, message=message)
    assert 0.1 == 0.05
