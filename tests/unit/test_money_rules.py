"""What a message costs, by a table (§1, §2.3, §8), and the digits of amounts.

Random scripts hold the whole life of the money against the model.
"""

import json
from decimal import Decimal, localcontext

import pytest

from pytest_chatfake import ChatFake

from .fakes import frozen_fake


def prices(message):
    """`totalPrice` in each of the message's events."""
    bodies = [json.loads(event.body, parse_float=Decimal) for event in message.events]
    return [body["chatMessage"]["totalPrice"] for body in bodies]


# -- digits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["1E-40", "1E+40", "9" * 28])
def test_amounts_at_the_bounds_are_taken(fake, amount):
    fake.set_balance(amount)

    assert Decimal(amount) == fake.balance.available


def test_every_digit_of_an_amount_is_kept():
    with frozen_fake(opening_balance="1234567890123456789.123456789") as fake:
        fake.send_text(price="0.0000000000000000000000000001").deliver()

        expected = Decimal("1234567890123456789.1234567889999999999999999999")
        assert expected == fake.balance.available


def test_the_callers_decimal_context_rounds_nothing():
    with localcontext(prec=4), ChatFake(opening_balance="0", price="12345.678901") as fake:
        fake.send_text()

        fake.assert_available("-12345.678901")
        fake.assert_available(Decimal("-12345.678901"))


def test_numbers_have_no_exponent_whatever_the_context_of_the_test_writes():
    with localcontext() as context:
        context.capitals = 0  # 1e-7, and not 1E-7
        with frozen_fake(price="1E-7") as fake:
            fake.send_text()

            assert b'"totalPrice":0.0000001,' in fake.events[0].body


# -- what is charged -------------------------------------------------------------------------------


#: A message for 2, alone or beside one for 1 that was delivered before it was sent, or after that;
#: and what becomes of it. The prices that its events tell, and what is held and charged for it in
#: the end: by conversation, and where each message is charged.
CHARGED = """
alone                         | 2, 2 0       | 2, 2 0
alone deliver                 | 2 2, 0 2     | 2 2, 0 2
alone deliver=3               | 2 3, 0 3     | 2 3, 0 3
alone fail                    | 2 0, 0 0     | 2 0, 0 0
alone 719                     | 2, 2 0       | 2, 2 0
alone 720                     | 2, 0 0       | 2, 0 0
before                        | 0, 0 0       | 2, 2 0
before deliver                | 0 0, 0 0     | 2 2, 0 2
before deliver=3              | 0 0, 0 0     | 2 3, 0 3
before deliver=0              | 0 0, 0 0     | 2 0, 0 0
before read                   | 0 0, 0 0     | 2 2, 0 2
before deliver deliver=9 read | 0 0 0 0, 0 0 | 2 2 2 2, 0 2
before fail                   | 0 0, 0 0     | 2 0, 0 0
before 24 deliver             | 0 0, 0 0     | 2 2, 0 2
before 48 deliver=3           | 0 0, 0 0     | 2 3, 0 3
before 720                    | 0, 0 0       | 2, 0 0
after deliver                 | 2 0, 0 0     | 2 2, 0 2
after 720                     | 2, 0 0       | 2, 0 0
"""


def charged(fake, beside, *steps):
    other = fake.send_text(price="1", to="+1" if beside == "alone" else None)
    if beside == "before":
        other.deliver()
    message = fake.send_text(price="2")
    if beside == "after":
        other.deliver()
    for verb, _, price in (step.partition("=") for step in steps):
        if verb.isdigit():
            fake.clock.advance(hours=int(verb))
        else:
            getattr(message, verb)(**{"price": price} if price else {})
    return f"{' '.join(map(str, prices(message)))}, {message.held:f} {message.charged:f}"


def test_a_second_device_is_not_charged_again(fake):
    fake.send_text().deliver(devices=3).deliver()

    fake.assert_charged("0.05")


def test_each_message_costs_what_the_table_says():
    for line in CHARGED.strip().splitlines():
        story, *columns = (cell.strip() for cell in line.split("|"))
        for charge_per, expected in zip(["conversation", "message"], columns, strict=True):
            with frozen_fake(charge_per=charge_per) as fake:
                assert (story, expected) == (story, charged(fake, *story.split()))
