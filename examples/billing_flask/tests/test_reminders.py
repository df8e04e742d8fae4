"""Reminders before a conversation is over: in time, once, and free of charge."""

import pytest
from billing_flask.reminders import TEXT
from billing_flask.testing import Billing, Campaign

from pytest_chatfake import ChatFake, Clock, Edge, edges

HOUR = 3600


def test_a_reminder_goes_out_in_the_last_hour_once_and_costs_nothing(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign
) -> None:
    campaign.send("Sale ends today").deliver()

    chat_clock.advance(hours=22)
    assert billing.remind() == 0
    chat_clock.advance(hours=1, minutes=30)
    with chat_fake.expect_charge("0"):
        assert billing.remind() == 1
        chat_fake.find_message(body=TEXT).deliver()
    assert billing.remind() == 0


@pytest.mark.parametrize("edge", edges("session"))
def test_nobody_is_reminded_when_the_conversation_is_over(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign, edge: Edge
) -> None:
    message = campaign.send("Sale ends today").deliver()

    chat_clock.advance_to(edge, message)

    assert billing.remind() == (0 if edge.over else 1)
    chat_fake.assert_charged("0.05")


def test_a_person_whom_nothing_has_reached_is_not_reminded(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign
) -> None:
    anna = chat_fake.recipient("+4915550001", online=False)
    campaign.send("Sale ends today", to=anna.address)

    chat_clock.advance(hours=23, minutes=30)
    assert billing.remind() == 0  # `sent` has an expiry, too, and it is only an estimate

    anna.comes_online()
    chat_clock.advance(hours=23, minutes=30)
    assert billing.remind() == 1
    chat_fake.assert_charged("0.05")


def test_each_person_of_a_campaign_is_reminded_in_their_own_last_hour(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign
) -> None:
    chat_fake.autopilot(deliver_after=(60, 12 * HOUR), read_after=(60, HOUR))
    for number in range(8):
        campaign.send("Sale ends today", to=f"+49155500{number:02}")

    reminded = 0
    for _ in range(36 * 2):  # cron, every half an hour
        chat_clock.advance(minutes=30)
        reminded += billing.remind()

    assert reminded == 8
    assert campaign.charged == "0.40"  # the reminders are free
    chat_fake.assert_charged("0.40")


def test_a_reminder_that_the_service_refuses_is_tried_again(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign
) -> None:
    campaign.send("Sale ends today").deliver()
    chat_clock.advance(hours=23, minutes=30)

    billing.app.config["MESSAGING_API_KEY"] = "a key of last year"
    assert billing.remind() == 0
    billing.app.config["MESSAGING_API_KEY"] = chat_fake.api_key
    assert billing.remind() == 1
    chat_fake.assert_statuses(chat_fake.find_message(body=TEXT), "sent")
