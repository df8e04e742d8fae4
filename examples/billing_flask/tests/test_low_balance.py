"""One alert when money runs low, one when it is back. The app's threshold is 10 USD."""

import socket

import pytest
from billing_flask.testing import Billing
from flask import Flask

from pytest_chatfake import ChatFake


def test_plenty_of_money_is_no_news(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.send_text().deliver()
    assert billing.alerts() == []


def test_a_webhook_that_finds_the_balance_low_stores_an_alert(
    chat_fake: ChatFake, billing: Billing
) -> None:
    chat_fake.set_balance("10.04")
    chat_fake.send_text()  # holds 0.05 of it
    assert billing.alerts() == ["low"]


def test_a_low_balance_is_told_once(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.set_balance("5")
    chat_fake.send_text().deliver(devices=2).read()
    assert billing.alerts() == ["low"]


def test_a_second_device_takes_nothing_from_the_balance(
    chat_fake: ChatFake, billing: Billing
) -> None:
    chat_fake.send_text().deliver(devices=2)
    assert billing.check_balance() == (0, "99.95 USD\n")


@pytest.mark.parametrize(
    ("balance", "alerts"),
    [
        ("10", []),
        ("9.999999999999999999999999999", ["low"]),
    ],
)
def test_low_means_below_the_threshold_by_whatever_little(
    chat_fake: ChatFake, billing: Billing, balance: str, alerts: list[str]
) -> None:
    chat_fake.set_balance(balance)
    billing.check_balance()
    assert billing.alerts() == alerts


def test_the_threshold_itself_is_no_recovery(chat_fake: ChatFake, billing: Billing) -> None:
    for balance in ("9", "10", "9", "10"):
        chat_fake.set_balance(balance)
        billing.check_balance()
    assert billing.alerts() == ["low"]


def test_the_next_webhook_notices_a_top_up(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.set_balance("5")
    message = chat_fake.send_text()

    chat_fake.top_up("20")
    message.deliver()

    assert billing.alerts() == ["low", "recovered"]


def test_no_event_tells_of_a_top_up_so_the_command_looks(
    chat_fake: ChatFake, billing: Billing
) -> None:
    chat_fake.set_balance("5")
    assert billing.check_balance() == (0, "5 USD\nalert: low\n")

    chat_fake.top_up("20")
    assert billing.check_balance() == (0, "25 USD\nalert: recovered\n")

    assert billing.check_balance() == (0, "25 USD\n")


def test_every_drop_below_the_threshold_is_told(chat_fake: ChatFake, billing: Billing) -> None:
    for balance in ("5", "20", "5", "20"):
        chat_fake.set_balance(balance)
        billing.check_balance()
    assert billing.alerts() == ["low", "recovered", "low", "recovered"]


def test_an_overdrawn_account_is_low(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.set_balance("0.01")
    chat_fake.send_text().deliver()
    chat_fake.assert_available("-0.04")
    assert billing.alerts() == ["low"]


def test_a_wrong_key_skips_the_check_and_not_the_webhook(
    chat_fake: ChatFake, app: Flask, billing: Billing
) -> None:
    app.config["MESSAGING_API_KEY"] = "a key of last year"

    message = chat_fake.send_text()

    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == ["401 INVALID_API_KEY"]


def test_a_command_that_could_not_check_fails_so_that_cron_reports_it(
    app: Flask, billing: Billing
) -> None:
    app.config["MESSAGING_API_KEY"] = "a key of last year"
    assert billing.check_balance() == (1, "Error: skipped: 401 INVALID_API_KEY\n")


def test_a_service_that_is_not_there_skips_the_check(
    chat_fake: ChatFake, app: Flask, billing: Billing
) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        port = nobody_listens.getsockname()[1]
        app.config["MESSAGING_BASE_URL"] = f"http://127.0.0.1:{port}"
        chat_fake.send_text()
    assert billing.skipped_checks() == ["no complete answer (ConnectionRefusedError)"]
