"""``manage.py check_balance`` reads the balance over HTTP, as cron would have it."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from pytest_chatfake import ChatFake, Clock

# The command commits, and mails once it has.
pytestmark = pytest.mark.django_db(transaction=True)


def check_balance() -> str:
    output = StringIO()
    call_command("check_balance", stdout=output)
    return output.getvalue()


def test_plenty_of_money_is_no_news(mailoutbox: list[Any]) -> None:
    assert check_balance() == "100 USD\n"
    assert not mailoutbox


def test_low_is_told_once_and_so_is_the_recovery(
    chat_fake: ChatFake, mailoutbox: list[Any]
) -> None:
    for balance in ("9.99", "5.00", "10.00", "20.00", "9.00"):
        chat_fake.set_balance(balance)
        check_balance()

    assert [(mail.subject, mail.body) for mail in mailoutbox] == [
        ("The balance: low", "9.99 USD"),
        ("The balance: recovered", "10.00 USD"),
        ("The balance: low", "9.00 USD"),
    ]


def test_money_held_for_phones_that_are_off_is_back_after_30_days(
    chat_fake: ChatFake, chat_clock: Clock, mailoutbox: list[Any]
) -> None:
    chat_fake.set_balance("10.04")
    chat_fake.send_text("Are you there?")
    check_balance()

    chat_clock.advance(days=30)
    check_balance()

    assert [mail.subject for mail in mailoutbox] == ["The balance: low", "The balance: recovered"]


def test_a_key_that_is_not_accepted_fails_the_command(chat_fake: ChatFake) -> None:
    chat_fake.rotate_key()
    with pytest.raises(CommandError, match="the service answered 401"):
        check_balance()
