"""Messages that never arrive: the phone is off, the sender blocked. No event tells of the end."""

from datetime import timedelta

import pytest
from billing_flask.testing import Billing, Campaign

from pytest_chatfake import ChatFake, Clock, Edge, edges

ALMOST_30_DAYS = timedelta(days=30) - timedelta(milliseconds=1)


def test_money_stays_reserved_for_30_days(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign
) -> None:
    campaign.send("Are you there?")

    chat_clock.advance(ALMOST_30_DAYS)

    assert campaign.reserved == "0.05"
    chat_fake.assert_held("0.05")


def test_after_30_days_the_message_is_given_up_and_the_money_is_back(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign
) -> None:
    message = campaign.send("Are you there?")

    chat_clock.advance(days=30)

    chat_fake.assert_statuses(message, "sent")  # no event: the app has to know by itself
    chat_fake.assert_held("0")
    assert campaign.reserved == "0"
    assert campaign.spend()["messages"]["dropped"] == 1


def test_a_phone_switched_on_in_time_is_charged(campaign: Campaign, chat_clock: Clock) -> None:
    message = campaign.send("Are you there?")

    chat_clock.advance(ALMOST_30_DAYS)
    message.deliver()
    chat_clock.advance(days=30)

    assert campaign.charged == "0.05"
    assert campaign.spend()["messages"]["dropped"] == 0


def test_each_message_has_30_days_of_its_own(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign
) -> None:
    for recipient in ("+4915550001", "+4915550002", "+4915550003"):
        campaign.send(to=recipient)
        chat_clock.advance(days=1)

    for left in ("0.10", "0.05", "0"):
        chat_clock.move_to(chat_clock.next_due)
        assert campaign.reserved == left
        chat_fake.assert_held(left)


@pytest.mark.parametrize("edge", edges("drop"))
def test_the_app_and_the_service_agree_when_the_money_comes_back(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign, edge: Edge
) -> None:
    chat_fake.recipient("+4915550001", online=False)
    message = campaign.send("Are you there?", to="+4915550001")

    chat_clock.advance_to(edge, message)

    reserved = "0" if edge.over else "0.05"
    assert campaign.reserved == reserved
    chat_fake.assert_held(reserved)


def test_the_money_of_a_number_that_is_not_registered_comes_back_at_once(
    chat_fake: ChatFake, campaign: Campaign
) -> None:
    chat_fake.recipient("+4915550009", registered=False)

    campaign.send("Are you there?", to="+4915550009")

    assert campaign.reserved == "0"
    assert campaign.spend()["messages"]["failed"] == 1
    chat_fake.assert_held("0")


def test_what_waits_for_a_phone_is_charged_once_when_it_is_on_again(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign
) -> None:
    anna = chat_fake.recipient("+4915550001", online=False)
    for _ in range(3):
        campaign.send("Are you there?", to=anna.address)
        chat_clock.advance(days=1)
    assert campaign.reserved == "0.15"

    anna.comes_online()

    assert (campaign.reserved, campaign.charged) == ("0", "0.05")
    chat_fake.assert_charged("0.05")
    chat_fake.assert_held("0")


def test_the_balance_recovers_without_an_event_so_the_command_looks(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    chat_fake.set_balance("10.04")
    chat_fake.send_text("Are you there?")
    assert billing.alerts() == ["low"]

    chat_clock.advance(days=30)
    assert billing.alerts() == ["low"]

    billing.check_balance()
    assert billing.alerts() == ["low", "recovered"]
