"""Why a message costs what it costs, for each rule."""

import pytest

pytestmark = pytest.mark.chat_fake(retry_after=[30])


def given(fake, **options):
    return fake.send_text(conversation=fake.send_text(to="+2").conversation, **options)


def in_a_session(fake, **options):
    return fake.send_text(conversation=fake.send_text().deliver().conversation, **options)


def late(fake):
    fake.send_text().deliver()
    message = fake.send_text()
    fake.clock.advance(hours=24)
    return message


def second(fake, **options):
    fake.send_text()
    return fake.send_text(**options)


def after_the_other(fake, to=None):
    other, message = fake.send_text(to=to), fake.send_text(to=to)
    other.deliver()
    return message


def without_receipts(fake):
    return fake.recipient("+1", read_receipts=False).address


def dropped(fake):
    message = fake.send_text()
    fake.clock.advance(days=30)
    return message


def made_up(fake):
    message = fake.send_text()
    fake.webhooks.emit(message, "read")
    return message


def retried(fake):
    fake.webhooks.receiver().respond(500)
    fake.webhooks.lose(status="read")
    message = fake.send_text()
    fake.clock.advance(60)
    return message.deliver().read()


MESSAGES = [
    lambda fake: fake.send_text(price="0.07"),
    lambda fake: fake.send_text(conversation="c0ffee", price="0.07"),
    lambda fake: fake.send_text(price=0),
    lambda fake: second(fake, price="0.07"),
    second,
    lambda fake: second(fake, price=0),
    in_a_session,
    lambda fake: given(fake, price="0.07"),
    given,
    lambda fake: given(fake, price=0),
    lambda fake: fake.send_text(price=1).deliver(devices=2),
    lambda fake: fake.send_text(price=1).deliver(price="0.07").read(),
    lambda fake: fake.send_text(price=0).deliver(),
    lambda fake: second(fake).deliver(),
    lambda fake: after_the_other(fake).deliver(),
    lambda fake: late(fake).deliver(),
    lambda fake: fake.send_text(price=1).read(),
    lambda fake: fake.send_text(price=0).read(),
    lambda fake: in_a_session(fake).read(),
    lambda fake: after_the_other(fake).read(),
    lambda fake: late(fake).read(),
    lambda fake: fake.send_text(to=without_receipts(fake)).read(),
    lambda fake: fake.send_text(to=without_receipts(fake), price=0).read(),
    lambda fake: after_the_other(fake, without_receipts(fake)).read(),
    lambda fake: fake.send_text().fail(),
    lambda fake: fake.send_text(price=0).fail(),
    lambda fake: fake.submit_text().reject(),
    made_up,
    dropped,
    retried,
]

PER_MESSAGE = pytest.param(marks=pytest.mark.chat_fake(charge_per="message"), id="message")


@pytest.mark.parametrize((), [pytest.param(id="conversation"), PER_MESSAGE])
def test_every_price_is_explained(chat_fake, chat_clock):
    reasons = []
    for send in MESSAGES:
        explained = chat_fake.explain(send(chat_fake))
        reasons.append(explained.partition("What happened")[0])
        chat_fake.reset()
    pytest.fail("\n".join(reasons))


def test_what_happened_to_a_message_is_explained(chat_fake, chat_clock):
    message = retried(chat_fake)
    undelivered = dropped(chat_fake)
    rejected = chat_fake.submit_text("x", to="+2").reject()
    pytest.fail("\n\n".join(map(chat_fake.explain, [message, undelivered, rejected])))


@pytest.mark.chat_fake(opening_balance="0.01", on_insufficient_balance="fail")
def test_a_message_that_the_balance_cannot_pay_is_explained(chat_fake, chat_clock):
    default, dear = chat_fake.send_text(), chat_fake.send_text(price="0.07")
    pytest.fail("\n\n".join(map(chat_fake.explain, [default, dear])))
