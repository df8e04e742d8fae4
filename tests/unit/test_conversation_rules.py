"""Grouping, the 24-hour session and its expiry (§1, §2.4, §8), an example for each rule.

Grouping is a row of fidelity. Random scripts hold all of them against the model.
"""

import json

ALICE, BOB = "+4915100001", "+4915100002"


def expiries(message):
    """`expireTime` in each of the message's events."""
    bodies = [json.loads(event.body) for event in message.events]
    return [body["chatMessage"]["conversation"]["expireTime"] for body in bodies]


def test_the_expiry_is_an_estimate_until_the_first_delivery_refreshes_it(fake):
    message = fake.send_text()
    fake.clock.advance(hours=3)
    message.deliver()
    fake.clock.advance(hours=1)
    message.read()

    refreshed = "2026-01-02T15:00:00.000Z"
    assert ["2026-01-02T12:00:00.000Z", refreshed, refreshed] == expiries(message)


def test_an_id_that_a_test_has_given_is_left_out_by_the_service(fake):
    first = fake.send_text(to=ALICE).conversation
    assert first is not None
    fake.send_text(to=BOB, conversation=first.id[:-1] + "3")  # that of the third one
    fake.send_text(to=BOB, origin_type="utility")

    assert [one.id[-8:] for one in fake.conversations] == ["00000001", "00000003", "00000004"]
