"""Faults that make no sense are refused, and set nothing up."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatfake import ChatFake

from .fakes import FAULT_KINDS, frozen_fake, set_up_fault, visible_state, warnings_at_the_end

BAD_OPTIONS: list[tuple[dict[str, Any], Any, str]] = [
    ({"times": 0}, ValueError, "times must be at least 1"),
    ({"times": -1}, ValueError, "times must be at least 1"),
    ({"times": 1.5}, TypeError, "times must be a whole number"),
    ({"times": True}, TypeError, "times must be a whole number"),
    ({"start": 0}, ValueError, "start must be at least 1"),
    ({"start": "2"}, TypeError, "start must be a whole number"),
    ({"start": None}, TypeError, "start must be a whole number"),
    ({"status": ""}, ValueError, "status must not be empty"),
    ({"status": 200}, TypeError, "status must be text"),
    ({"status": "delivred"}, ValueError, "no status of the service: did you mean 'delivered'"),
    ({"message": "an id"}, TypeError, "a Message is needed"),
    ({"endpoint": "http://127.0.0.1/"}, ValueError, "is not connected to this fake"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD_OPTIONS)
def test_a_bad_argument_is_refused_and_sets_nothing_up(
    options: Any, error: Any, words: str
) -> None:
    def scenario(fake: ChatFake) -> None:
        fake.send_text()
        before = visible_state(fake)

        with pytest.raises(error, match=words):
            fake.webhooks.drop(**options)

        assert before == visible_state(fake)

    assert [] == warnings_at_the_end(scenario)  # of a fault that never fired


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_of_fault_checks_each_of_its_arguments(kind: str) -> None:
    one_of_each = {next(iter(case[0])): case for case in BAD_OPTIONS}
    assert {"times", "start", "status", "message", "endpoint"} == set(one_of_each)
    with frozen_fake() as fake:
        for options, error, words in one_of_each.values():
            with pytest.raises(error, match=words):
                set_up_fault(fake, kind, **options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda w: w.delay(0), ValueError, "greater than 0"),
        (lambda w: w.delay(-1), ValueError, "expected 0 or more"),
        (lambda w: w.delay("soon"), TypeError, "timedelta or a number of seconds"),
        (lambda w: w.delay(True), TypeError, "timedelta or a number of seconds"),
        (lambda w: w.delay(float("nan")), ValueError, "finite"),
        (lambda w: w.tamper(b"body"), TypeError, "function of the body"),
        (lambda w: w.sign(None), TypeError, "lambda request: {}"),
        (lambda w: w.sign("secret"), TypeError, "takes the WebhookRequest and returns headers"),
    ],
)
def test_a_fault_without_sense_is_refused(call: Any, error: Any, words: str) -> None:
    with frozen_fake() as fake:
        before = visible_state(fake)

        with pytest.raises(error, match=words):
            call(fake.webhooks)

        assert before == visible_state(fake)


def test_an_endpoint_of_another_fake_is_refused() -> None:
    with frozen_fake() as fake, ChatFake() as other:
        endpoint = other.webhooks.receiver().endpoint

        with pytest.raises(ValueError, match="is not connected to this fake"):
            fake.webhooks.drop(endpoint=endpoint)


@pytest.mark.parametrize(
    ("slip", "status"),
    [
        ("deliver", "delivered"),
        ("Delivered", "delivered"),
        ("snet", "sent"),
        ("fail", "failed"),
        ("reads", "read"),
    ],
)
def test_a_status_that_is_a_slip_is_refused_with_the_one_that_was_meant(
    slip: str, status: str
) -> None:
    with frozen_fake() as fake:
        for kind in ("reorder", "drop"):
            with pytest.raises(ValueError, match=f"did you mean '{status}'"):
                set_up_fault(fake, kind, status=slip)


def test_a_status_of_the_teams_own_is_taken() -> None:
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver()
        message = fake.send_text()
        for status in ("seen", "unread", "deleted", "re"):
            with fake.webhooks.drop(status=status):
                fake.webhooks.emit(message, status)
        fake.webhooks.emit(message, "Read")
        with fake.webhooks.drop(status="Read"):  # it is one, for an event has it
            fake.webhooks.emit(message, "Read")

        assert ["sent", "Read"] == receiver.statuses(message)
