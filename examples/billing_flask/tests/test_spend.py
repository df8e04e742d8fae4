"""What a campaign costs: to the last digit, and never twice."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from billing_flask.testing import Campaign

from pytest_chatfake import ChatFake, Clock

ANNA, BEN, CARLA = "+4915550001", "+4915550002", "+4915550003"


def test_a_sent_message_is_reserved_and_not_yet_charged(campaign: Campaign) -> None:
    campaign.send()
    assert campaign.reserved == "0.05"
    assert campaign.charged == "0"


def test_a_delivered_message_is_charged_and_no_longer_reserved(campaign: Campaign) -> None:
    campaign.send().deliver()
    assert campaign.reserved == "0"
    assert campaign.charged == "0.05"


def test_devices_and_read_receipts_cost_nothing_more(campaign: Campaign) -> None:
    campaign.send().deliver(devices=3).read()
    assert campaign.charged == "0.05"


def test_a_message_read_at_once_is_charged(campaign: Campaign) -> None:
    campaign.send().read()
    assert campaign.charged == "0.05"


def test_a_failed_message_is_not_charged(campaign: Campaign) -> None:
    campaign.send().fail()
    assert campaign.charged == "0"
    assert campaign.reserved == "0"


def test_the_final_price_counts_and_not_the_estimate(campaign: Campaign) -> None:
    message = campaign.send()
    assert campaign.reserved == "0.05"

    message.deliver(price="0.0725")
    assert campaign.charged == "0.0725"


def test_more_messages_in_an_open_conversation_are_free(campaign: Campaign) -> None:
    campaign.send("Sale ends today", to=ANNA).deliver()
    campaign.send("Sale ends in an hour", to=ANNA).deliver().read()
    assert campaign.charged == "0.05"


def test_each_recipient_is_a_conversation_of_their_own(campaign: Campaign) -> None:
    for recipient in (ANNA, BEN, CARLA):
        campaign.send(to=recipient).deliver()
    assert campaign.charged == "0.15"


def test_of_two_messages_under_way_only_the_first_delivered_is_charged(
    campaign: Campaign,
) -> None:
    first, second = campaign.send(to=ANNA), campaign.send(to=ANNA)
    assert campaign.reserved == "0.10"

    second.deliver()
    assert campaign.charged == "0.05"
    assert campaign.reserved == "0.05"

    first.deliver()
    assert campaign.charged == "0.05"
    assert campaign.reserved == "0"


def test_two_deliveries_at_the_same_moment_are_charged_once(
    campaign: Campaign, chat_clock: Clock
) -> None:
    first, second = campaign.send(to=ANNA), campaign.send(to=ANNA)
    second.deliver()  # charged
    first.deliver()  # free, and time stands still
    assert campaign.charged == "0.05"


def test_the_campaign_that_opens_a_conversation_pays_for_both(
    make_campaign: Callable[[str], Campaign],
) -> None:
    spring, summer = make_campaign("Spring sale"), make_campaign("Summer sale")

    spring.send(to=ANNA).deliver()
    summer.send(to=ANNA).deliver()

    assert spring.charged == "0.05"
    assert summer.charged == "0"


def test_messages_are_counted_by_what_became_of_them(campaign: Campaign) -> None:
    campaign.send(to=ANNA)
    campaign.send(to=ANNA).deliver()
    campaign.send(to=BEN).deliver().read()
    campaign.send(to=BEN).read()
    campaign.send(to=CARLA).fail()

    assert campaign.spend()["messages"] == {
        "accepted": 0,
        "sent": 1,
        "delivered": 1,
        "read": 2,
        "failed": 1,
        "dropped": 0,
    }


@pytest.mark.chat_fake(price="0.1")
def test_three_times_ten_cents_are_thirty_cents(campaign: Campaign) -> None:
    for recipient in (ANNA, BEN, CARLA):
        campaign.send(to=recipient).deliver()
    assert campaign.charged == "0.3"


@pytest.mark.chat_fake(price="0.1234567890123456789012345678")
def test_a_price_keeps_all_its_digits(campaign: Campaign) -> None:
    campaign.send().deliver()
    assert campaign.charged == "0.1234567890123456789012345678"


@pytest.mark.chat_fake(currency="EUR")
def test_the_currency_is_the_accounts(campaign: Campaign) -> None:
    campaign.send()
    assert campaign.spend()["currency"] == "EUR"


def test_the_books_of_the_app_and_of_the_service_agree(
    chat_fake: ChatFake, campaign: Campaign
) -> None:
    campaign.send(to=ANNA).deliver(devices=2).read()
    campaign.send(to=ANNA)
    campaign.send(to=BEN).fail()
    campaign.send(to=BEN).read()
    campaign.send(to=CARLA)

    assert Decimal(campaign.charged) == chat_fake.balance.charged
    assert Decimal(campaign.reserved) == chat_fake.balance.held


def test_asking_for_the_spend_costs_nothing(chat_fake: ChatFake, campaign: Campaign) -> None:
    campaign.send().deliver()
    with chat_fake.expect_charge("0"):
        campaign.spend()
