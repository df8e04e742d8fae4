"""24-hour sessions: when one is open, and when the next message costs money again."""

from datetime import timedelta

from billing_flask.testing import Billing, Campaign

from pytest_chatfake import ChatFake, Clock, Message

ALMOST_A_DAY = timedelta(days=1) - timedelta(milliseconds=1)


def is_open(billing: Billing, message: Message) -> bool:
    return billing.message(message.id)["conversation"]["open"]


def test_a_message_that_is_only_sent_opens_nothing(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text()
    conversation = billing.message(message.id)["conversation"]
    assert conversation["open"] is False
    assert conversation["expiresAt"] is None  # what the event says is only an estimate


def test_a_message_is_shown_with_its_conversation(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text().deliver()
    assert billing.message(message.id)["conversation"]["id"] == message.conversation.id


def test_the_first_delivery_opens_the_conversation_for_24_hours(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    message = chat_fake.send_text().deliver()

    chat_clock.advance(ALMOST_A_DAY)
    assert is_open(billing, message)

    chat_clock.advance(milliseconds=1)
    assert not is_open(billing, message)


def test_the_24_hours_start_at_delivery_and_not_at_sending(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    message = chat_fake.send_text()
    chat_clock.advance(hours=5)
    message.deliver()

    chat_clock.advance(ALMOST_A_DAY)
    assert is_open(billing, message)


def test_a_later_message_does_not_extend_the_conversation(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    first = chat_fake.send_text().deliver()
    chat_clock.advance(hours=20)
    second = chat_fake.send_text().deliver()

    chat_clock.advance(hours=4)

    assert not is_open(billing, first)
    assert not is_open(billing, second)


def test_a_later_message_that_is_only_sent_leaves_the_conversation_open(
    chat_fake: ChatFake, billing: Billing
) -> None:
    first = chat_fake.send_text().deliver()
    second = chat_fake.send_text()

    assert is_open(billing, first)
    assert is_open(billing, second)


def test_the_next_day_costs_money_again(campaign: Campaign, chat_clock: Clock) -> None:
    campaign.send().deliver()
    chat_clock.advance(hours=24)
    campaign.send().deliver()
    assert campaign.charged == "0.10"


def test_one_millisecond_earlier_does_not(campaign: Campaign, chat_clock: Clock) -> None:
    campaign.send().deliver()
    chat_clock.advance(ALMOST_A_DAY)
    campaign.send().deliver()
    assert campaign.charged == "0.05"


def test_a_delivery_after_the_conversation_is_over_is_not_charged_again(
    campaign: Campaign, chat_clock: Clock
) -> None:
    campaign.send().deliver()
    straggler = campaign.send()

    chat_clock.advance(days=2)
    straggler.deliver()

    assert campaign.charged == "0.05"


def test_a_read_receipt_next_week_costs_nothing(campaign: Campaign, chat_clock: Clock) -> None:
    message = campaign.send().deliver()
    chat_clock.advance(weeks=1)
    message.read()
    assert campaign.charged == "0.05"


def test_another_kind_of_conversation_is_charged_by_itself(
    chat_fake: ChatFake, billing: Billing
) -> None:
    offer = chat_fake.send_text("Sale ends today").deliver()
    code = chat_fake.send_text("Your code is 1234", origin_type="authentication").deliver()

    assert billing.message(offer.id)["price"] == "0.05"
    assert billing.message(code.id)["price"] == "0.05"
