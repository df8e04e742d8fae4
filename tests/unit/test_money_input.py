"""Topping up, setting the balance, what the query reports (§2.1, §4.1), and bad amounts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake

from .books import balance, dec, entries
from .table import frozen_fake

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def prices(message: Any) -> list[Decimal]:
    """`totalPrice` in each of the message's events."""
    bodies = [json.loads(event.body, parse_float=Decimal) for event in message.events]
    return [body["chatMessage"]["totalPrice"] for body in bodies]


# -- topping up and setting ------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["12.50", 3, Decimal("0.001")])
def test_a_top_up_is_available_at_once(fake: ChatFake, amount: Any) -> None:
    fake.top_up(amount)

    assert [("top_up", Decimal(amount))] == entries(fake)
    assert 100 + Decimal(amount) == fake.balance.available
    assert (None, None) == (fake.ledger[-1].message_id, fake.ledger[-1].conversation_id)


@pytest.mark.parametrize(
    ("target", "difference"), [("3.14", "-96.86"), ("250", "150"), ("0", "-100")]
)
def test_setting_the_balance_posts_the_difference(
    fake: ChatFake, target: str, difference: str
) -> None:
    fake.set_balance(target)

    assert [("adjustment", Decimal(difference))] == entries(fake)
    assert Decimal(target) == fake.balance.available


def test_setting_the_balance_it_has_posts_nothing(fake: ChatFake) -> None:
    fake.set_balance("100.00")

    assert [] == entries(fake)


def test_setting_the_balance_sets_what_is_available_and_leaves_holds_alone(fake: ChatFake) -> None:
    message = fake.send_text()

    fake.set_balance("1")

    assert dec("1", "0.05", "0") == balance(fake)
    message.deliver()
    assert dec("1", "0", "0.05") == balance(fake)


@pytest.mark.parametrize(("knob", "amount"), [("available", "99.95"), ("total", "100.00")])
def test_whether_a_hold_is_part_of_the_reported_amount_is_a_knob(knob: str, amount: str) -> None:
    with frozen_fake(balance_amount=knob) as fake:
        fake.send_text()
        client = Client(fake.wsgi_app)

        response = client.get("/v2/balance", headers={"X-API-Key": fake.api_key})

        expected = {"amount": Decimal(amount), "currency": "USD"}
        assert expected == json.loads(response.data, parse_float=Decimal)


# -- bad amounts -----------------------------------------------------------------------------------

NONSENSE = [0.05, float("nan"), "NaN", "Infinity", "-0.01", -1, True, "five", "", None, b"1"]


@pytest.mark.parametrize("amount", [*NONSENSE, "0", 0], ids=repr)
def test_a_top_up_of_nonsense_or_nothing_is_refused(fake: ChatFake, amount: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        fake.top_up(amount)

    assert [] == entries(fake)


@pytest.mark.parametrize("amount", NONSENSE, ids=repr)
def test_a_balance_of_nonsense_is_refused(fake: ChatFake, amount: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        fake.set_balance(amount)

    assert [] == entries(fake)


@pytest.mark.parametrize("amount", [a for a in NONSENSE if a is not None], ids=repr)
def test_a_price_of_nonsense_is_refused_in_every_place(fake: ChatFake, amount: Any) -> None:
    message = fake.send_text()
    before = [event.body for event in fake.events], list(fake.ledger), len(fake.messages)

    for call in (fake.send_text, fake.submit_text, message.deliver):
        with pytest.raises((TypeError, ValueError)):
            call(price=amount)

    after = [event.body for event in fake.events], list(fake.ledger), len(fake.messages)
    assert before == after
    with pytest.raises((TypeError, ValueError)):
        ChatFake(price=amount)


@pytest.mark.parametrize("amount", NONSENSE, ids=repr)
def test_an_opening_balance_of_nonsense_is_refused(amount: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ChatFake(opening_balance=amount)


@pytest.mark.parametrize("call", ["top_up", "set_balance"])
def test_the_refusal_of_a_float_shows_the_text_to_write(fake: ChatFake, call: str) -> None:
    with pytest.raises(TypeError, match=r"""["']0\.05["']"""):
        getattr(fake, call)(0.05)


@pytest.mark.parametrize("devices", [0, -1, True, 1.5, "2"], ids=repr)
def test_a_count_of_devices_that_is_none_is_refused(fake: ChatFake, devices: Any) -> None:
    message = fake.send_text()

    with pytest.raises((TypeError, ValueError)):
        message.deliver(devices=devices)

    assert "sent" == message.status
    assert ["hold"] == [kind for kind, _ in entries(fake)]


def test_the_callers_decimal_context_rounds_nothing() -> None:
    with localcontext(prec=4), ChatFake(opening_balance="0", price="12345.678901") as fake:
        fake.send_text()

        fake.assert_available("-12345.678901")
        fake.assert_available(Decimal("-12345.678901"))
