"""Topping up, setting the balance, and what the query reports (§2.1, §4.1)."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake

from .fakes import frozen_fake
from .money_helpers import ledger_entries


@pytest.mark.parametrize(
    ("target", "difference"), [("3.14", "-96.86"), ("250", "150"), ("0", "-100")]
)
def test_setting_the_balance_posts_the_difference(
    fake: ChatFake, target: str, difference: str
) -> None:
    fake.set_balance(target)

    assert [("adjustment", Decimal(difference))] == ledger_entries(fake)
    assert Decimal(target) == fake.balance.available


@pytest.mark.parametrize("amount", ["1E-40", "1E+40", "9" * 28])
def test_amounts_at_the_bounds_are_taken(fake: ChatFake, amount: str) -> None:
    fake.set_balance(amount)

    assert Decimal(amount) == fake.balance.available


@pytest.mark.parametrize(("setting", "amount"), [("available", "99.95"), ("total", "100.00")])
def test_whether_a_hold_is_part_of_the_reported_amount_is_a_setting(
    setting: str, amount: str
) -> None:
    with frozen_fake(balance_amount=setting) as fake:
        fake.send_text()
        client = Client(fake.wsgi_app)

        response = client.get("/v2/balance", headers={"X-API-Key": fake.api_key})

        expected = {"amount": Decimal(amount), "currency": "USD"}
        assert expected == json.loads(response.data, parse_float=Decimal)


def test_the_callers_decimal_context_rounds_nothing() -> None:
    with localcontext(prec=4), ChatFake(opening_balance="0", price="12345.678901") as fake:
        fake.send_text()

        fake.assert_available("-12345.678901")
        fake.assert_available(Decimal("-12345.678901"))
