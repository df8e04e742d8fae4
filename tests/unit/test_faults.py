"""Events that come twice, late, never or changed: the faults of the webhooks."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from pytest_chatfake import ChatFakeError

from .fakes import (
    FAULT_KINDS,
    attempt_rows,
    fake_with_receiver,
    own_lines,
    received_bodies,
    received_statuses,
    set_up_fault,
    unchanged,
    warnings_at_the_end,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


# -- what each does --------------------------------------------------------------------------------


def test_a_duplicate_is_the_same_event_twice_byte_for_byte(fake, receiver):
    fault = fake.webhooks.duplicate()

    fake.send_text()

    assert len(receiver.requests) == 2
    assert len(set(received_bodies(receiver))) == 1
    assert len(fake.events) == 1
    assert attempt_rows(fake) == [("sent", 1, None, 200), ("sent", 1, "duplicate", 200)]
    assert fault.fired == 1


def test_a_dropped_event_is_emitted_and_never_attempted():
    with fake_with_receiver(retry_after=[1]) as (fake, receiver):
        fault = fake.webhooks.drop()

        message = fake.send_text().deliver()
        fake.clock.advance(hours=1)  # nor is it attempted again

        assert received_statuses(receiver) == ["delivered"]
        assert [event.status for event in message.events] == ["sent", "delivered"]
        assert attempt_rows(fake) == [("sent", 1, "drop", None), ("delivered", 1, None, 200)]
        assert not fake.webhooks.attempts[0].ok
        assert fake.webhooks.attempts[0].outcome == "not attempted"
        assert fault.fired == 1


@pytest.mark.parametrize("duration", [30, 30.0, timedelta(seconds=30)])
def test_a_delayed_event_comes_so_much_later_on_the_fakes_clock(fake, receiver, duration):
    fake.webhooks.delay(duration)
    fake.send_text().deliver()

    assert received_statuses(receiver) == ["delivered"]
    assert NOON + timedelta(seconds=30) == fake.clock.next_due
    fake.clock.advance(seconds=29, microseconds=999_999)
    assert received_statuses(receiver) == ["delivered"]
    fake.clock.advance(microseconds=1)
    assert received_statuses(receiver) == ["delivered", "sent"]
    assert attempt_rows(fake)[-1] == ("sent", 1, "delay", 200)
    assert NOON + timedelta(seconds=30) == fake.webhooks.attempts[-1].at
    assert fake.webhooks.attempts[-1].event.create_time == NOON


@pytest.mark.parametrize("kind", [*FAULT_KINDS, "reorder", "lose_response", "refuse"])
def test_no_fault_concerns_what_a_test_redelivers(fake, receiver, kind):
    fault = set_up_fault(fake, kind)
    fake.send_text()
    fake.clock.advance(30)
    fired, before = fault.fired, len(fake.webhooks.attempts)
    with set_up_fault(fake, kind) as another:
        fake.webhooks.redeliver(fake.events[0])
        fake.settle()
        assert (fired, 0) == (fault.fired, another.fired)
        fake.send_text()
        fake.clock.advance(30)

    again = fake.webhooks.attempts[before]
    assert (again.number, again.fault, again.status_code) == (1, None, 200)
    assert fake.events[0] == again.event != fake.webhooks.attempts[before + 1].event
    assert fake.events[0].body in received_bodies(receiver)


def test_a_tampered_body_is_changed_after_it_was_signed():
    signed = []

    def signer(request):
        signed.append(request.body)
        return {"X-Signed": "yes"}

    with fake_with_receiver(signer=signer) as (fake, receiver):
        fake.webhooks.tamper()
        fake.send_text()

        (request,) = receiver.requests
        assert fake.events[0].body == signed[0]
        assert signed[0] + b" " == request.body
        assert request.headers["X-Signed"] == "yes"
        assert attempt_rows(fake) == [("sent", 1, "tamper", 200)]


def test_a_body_is_tampered_with_in_the_order_the_faults_were_set_up(fake, receiver):
    fake.webhooks.tamper(lambda body: body + b"1")
    fake.webhooks.duplicate()
    fake.webhooks.tamper(lambda body: body + b"2", times=2)
    fake.send_text().deliver()

    sent, delivered = (event.body for event in fake.events)
    assert [sent + b"12", sent + b"12", delivered + b"2"] == received_bodies(receiver)


def test_of_two_other_signers_the_last_one_signs():
    with fake_with_receiver(signer=lambda _: {"X-Signature": "right"}) as (fake, receiver):
        fake.webhooks.sign(lambda _: {"X-Signature": "first"})
        fake.webhooks.sign(lambda _: {})
        fake.send_text()

        assert "X-Signature" not in receiver.requests[0].headers
        (attempt,) = fake.webhooks.attempts
        assert [mark.text for mark in attempt.marks] == ["missing signature"] * 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda body: body.decode(), TypeError, r"expected bytes such as body\[:-1\], got"),
        (lambda body: None, TypeError, "returned: expected bytes"),
        (lambda body: body[10**9], IndexError, "out of range"),
    ],
)
def test_a_tampering_function_that_goes_wrong_raises_and_spares_the_others(
    fake, receiver, change, error, words
):
    other = fake.webhooks.receiver()
    fake.webhooks.tamper(change, endpoint=receiver.endpoint)
    with pytest.raises(error, match=words):
        fake.send_text()

    assert [received_statuses(receiver), received_statuses(other)] == [[], ["sent"]]
    errors = {one.endpoint: type(one.error) for one in fake.webhooks.attempts}
    assert {receiver.endpoint: error, other.endpoint: type(None)} == errors


def test_another_signer_signs_in_place_of_the_configured_one():
    with fake_with_receiver(signer=lambda request: {"X-Signature": "right"}) as (fake, receiver):
        fake.webhooks.sign(lambda request: {"X-Signature": "wrong"})
        fake.webhooks.sign(lambda request: {}, start=2)
        fake.send_text().deliver().read()

        assert [request.headers.get("X-Signature") for request in receiver.requests] == [
            "wrong",
            None,
            "right",
        ]


def test_faults_work_together_in_the_order_in_which_they_were_set_up_fault(fake, receiver):
    fake.webhooks.duplicate()
    fake.webhooks.delay(60)
    fake.send_text()

    assert received_statuses(receiver) == []
    fake.clock.advance(60)
    assert received_statuses(receiver) == ["sent", "sent"]


def test_what_is_dropped_is_not_duplicated(fake, receiver):
    fake.webhooks.drop()
    fake.webhooks.duplicate()
    fake.send_text()

    assert received_statuses(receiver) == []
    assert attempt_rows(fake) == [("sent", 1, "drop", None)] * 2


# -- which events ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1]),
        ({"times": 2}, [1, 2]),
        ({"times": None}, [1, 2, 3, 4, 5]),
        ({"start": 2}, [2]),
        ({"start": 3, "times": 2}, [3, 4]),
        ({"start": 4, "times": None}, [4, 5]),
    ],
)
def test_times_and_start_count_the_events_that_match(options, expected):
    with fake_with_receiver() as (fake, _):
        fault = fake.webhooks.drop(**options, status="delivered")
        for number in range(1, 6):
            fake.send_text(to=f"+{number}").deliver()

        dropped = [one.event.message_id for one in fake.webhooks.attempts if one.fault]
        assert [fake.messages[number - 1].id for number in expected] == dropped
        assert len(expected) == fault.fired


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_fault_can_be_for_one_status_one_message_and_one_endpoint(kind):
    with fake_with_receiver() as (fake, _):
        second = fake.webhooks.receiver().endpoint
        one, other = fake.send_text(), fake.send_text()
        set_up_fault(fake, kind, message=other, status="read", endpoint=second, times=None)
        one.deliver().read()
        other.deliver().read()
        fake.clock.advance(hours=1)

        (hit,) = (attempt for attempt in fake.webhooks.attempts if attempt.fault)
        assert (other.id, "read") == (hit.event.message_id, hit.event.status)
        assert second is hit.endpoint


@pytest.mark.parametrize("kind", [*FAULT_KINDS, "reorder", "lose_response", "refuse"])
def test_an_event_counts_once_for_each_endpoint_whatever_the_fault(kind):
    with fake_with_receiver() as (fake, first):
        second = fake.webhooks.receiver()
        faults = [set_up_fault(fake, kind, start=start, times=1) for start in (1, 4)]
        fake.send_text().deliver()
        fake.clock.advance(30)

        hit = {(one.event.status, one.endpoint) for one in fake.webhooks.attempts if one.fault}
        assert {("sent", first.endpoint), ("delivered", second.endpoint)} == hit
        assert [fault.fired for fault in faults] == [1, 1]


def test_several_faults_of_the_content_and_a_repeat_come_together():
    with fake_with_receiver(signer=lambda _: {"X-Signature": "right"}) as (fake, receiver):
        fake.webhooks.tamper()
        fake.webhooks.duplicate(after=1)
        fake.webhooks.sign(lambda _: {"X-Signature": "wrong"})
        fake.webhooks.evolve(times=1)
        fake.webhooks.refuse()
        fake.send_text().deliver()
        fake.settle()

        signed = [one.headers["X-Signature"] for one in receiver.requests]
        evolved = [b"addedLater" in one.body for one in receiver.requests]
        tampered = [one.body.endswith(b" ") for one in receiver.requests]
        assert received_statuses(receiver) == ["delivered", "sent", "sent"]
        assert signed == ["right", "wrong", "right"]
        assert evolved == [False, True, True]  # a retry keeps what was written
        assert tampered == [False, True, False]
        assert attempt_rows(fake) == [
            ("sent", 1, "refuse", None),
            ("delivered", 1, None, 200),
            ("sent", 1, "duplicate", 200),
            ("sent", 2, None, 200),
        ]


@pytest.mark.parametrize("kind", ["refuse", "lose_response"])
def test_a_repeat_is_no_new_choice_of_a_fault_that_fails_the_first_attempt(kind):
    with fake_with_receiver() as (fake, _):
        fake.webhooks.duplicate()
        fault = getattr(fake.webhooks, kind)(times=None)
        fake.send_text()
        fake.settle()

        repeat, retry = attempt_rows(fake)[1:]
        assert (repeat, retry) == (("sent", 1, "duplicate", 200), ("sent", 2, None, 200))
        assert fault.fired == 1


def test_an_error_of_an_app_waits_for_other_endpoints_and_for_a_duplicate(fake):
    def raising(_):
        raise LookupError("mine")

    raises = fake.webhooks.connect(handler=raising)
    receiver = fake.webhooks.receiver()
    fake.webhooks.duplicate(endpoint=raises)
    with pytest.raises(LookupError, match="mine"):
        fake.send_text()

    assert received_statuses(receiver) == ["sent"]
    assert len(fake.webhooks.attempts) == 3


def test_a_retry_is_not_concerned():
    with fake_with_receiver(retry_after=[1]) as (fake, receiver):
        receiver.respond(500)
        fake.send_text()
        fake.webhooks.drop(times=1, status="sent")
        fake.clock.advance(1)

        assert received_statuses(receiver) == ["sent", "sent"]
        fake.send_text()
        assert received_statuses(receiver) == ["sent", "sent"]


@pytest.mark.parametrize("kind", ["drop", "delay"])
def test_what_is_lost_or_late_leaves_retries_to_the_clock(kind):
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        set_up_fault(fake, kind, status="read")
        receiver.respond(500)
        message = fake.send_text()
        fake.settle()

        assert received_statuses(receiver) == ["sent"]
        message.read()
        fake.clock.advance(60)
        assert received_statuses(receiver).count("sent") == 2


# -- how it ends -----------------------------------------------------------------------------------


def test_a_fault_is_over_when_it_is_removed(fake, receiver):
    fault = fake.webhooks.drop(times=None)
    fake.send_text()
    fault.remove()
    fault.remove()
    fake.send_text()

    assert len(received_statuses(receiver)) == 1
    assert fault.fired == 1


def test_a_fault_names_itself():
    with fake_with_receiver() as (fake, _):
        fault = fake.webhooks.drop(status="read", start=2)

        assert repr(fault) == "<Fault drop(status='read', start=2), fired 0 times>"
        assert fault.kind == "drop"
        with fault:
            fake.send_text().read()
            fake.send_text().read()


def test_a_fault_that_never_matched_is_named_in_a_warning_with_its_line():
    faults = []

    def scenario(fake):
        fake.webhooks.receiver()
        message = fake.send_text()
        faults.append(fake.webhooks.duplicate(status="played"))
        faults.append(fake.webhooks.drop(message=message, status="read"))
        faults.append(fake.api.fail())

    (text,) = warnings_at_the_end(scenario)
    lines = [own_lines(f"  {fault.description}, set up at {fault.line}") for fault in faults]
    lines[0] += " (unknown status 'played': the service has sent, delivered, read and failed)"
    lines[2] += " (no request with the fake's key after that)"
    head = "3 unused faults: set a fault up before the verb, or remove it:"
    assert [head, *lines] == text.splitlines()


def test_a_fault_that_fired_is_no_news_and_neither_is_its_failed_attempt():
    def scenario(fake):
        fake.webhooks.receiver()
        fake.webhooks.drop()
        fake.send_text()

    assert warnings_at_the_end(scenario) == []


def test_a_reset_forgets_faults_and_warns_of_none():
    def scenario(fake):
        receiver = fake.webhooks.receiver()
        fake.webhooks.drop(times=None)
        fake.webhooks.delay(60, status="read")
        fake.api.fail()

        fake.reset()
        fake.send_text()

        assert received_statuses(receiver) == ["sent"]

    assert warnings_at_the_end(scenario) == []


def test_crash_and_error_name_the_folder_that_they_need(fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest_chatfake.exploring", None)
    monkeypatch.delitem(sys.modules, "pytest_chatfake.exploring.crashes", raising=False)
    for verb in (fake.webhooks.crash, fake.webhooks.error):
        needs = rf"{verb.__name__}\(\) needs pytest_chatfake.exploring"
        with unchanged(fake), pytest.raises(ChatFakeError, match=needs):
            verb(before=sorted)
