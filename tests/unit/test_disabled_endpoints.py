"""Endpoints that are disabled after failed attempts in a row, and enabled again."""

import pytest

from pytest_chatfake import ClosedError

from .fakes import frozen_fake, stages, trail, warnings_at_the_end


def failing(fake, *statuses, **options):
    """An endpoint that responds so, and then with 500."""
    left = iter(statuses)
    return fake.webhooks.connect(handler=lambda _: next(left, 500), **options)


def test_failures_in_a_row_disable_an_endpoint_until_enabled_or_reset(fake):
    endpoint = failing(fake, 500, 200, disable_after=2)

    def send(times):
        for _ in range(times):
            fake.send_text()
        return endpoint.disabled

    assert not send(3)
    endpoint.enable()  # it is, and has failed once
    assert send(1)
    assert send(1)
    endpoint.enable()
    assert not send(1)
    assert send(1)
    missed = [one.status_code is None for one in fake.webhooks.attempts]
    assert missed == [False] * 4 + [True] + [False] * 2
    fake.reset()
    assert not endpoint.disabled


def test_retries_count_and_those_of_a_disabled_endpoint_are_forgotten(fake):
    statuses = iter([500, 500, 500, 200])
    endpoint = fake.webhooks.connect(
        handler=lambda _: next(statuses), retry_after=[10, 20, 30], disable_after=3
    )
    fake.send_text()
    fake.clock.advance(10)
    fake.send_text().deliver()  # its first attempt is the third that fails
    endpoint.enable()
    fake.clock.advance(3_600)
    fake.send_text()

    made, told = trail(fake), str(fake.timeline)
    assert made == (
        "sent 500, sent #2 500 +10, sent 500 +10, delivered disable_after not posted +10, "
        "sent +3610"
    )
    for words in ("500 [endpoint disabled", "not posted [endpoint disabled"):
        assert told.count(f"{words}: test_disabled_endpoints.py:") == 1
    assert told.count("verb     endpoint.enable()  at test_disabled_endpoints.py:") == 1


def test_what_was_not_attempted_is_no_failure_of_its_own():
    def scenario(fake):
        fake.webhooks.connect(handler=lambda _: 500, events="*", disable_after=1)
        fake.webhooks.duplicate()
        fake.send_text().deliver().read()
        fake.webhooks.emit_event("a.b")

    (warning,) = warnings_at_the_end(scenario)
    assert warning.startswith("1 attempt failed")


def test_what_is_lost_on_the_way_is_no_failure_of_the_endpoint(fake):
    endpoint = failing(fake, 200, disable_after=1)
    with fake.webhooks.lose(times=None):
        fake.send_text().deliver()
    fake.send_text()

    assert trail(fake) == "sent lose not posted, delivered lose not posted, sent"
    assert not endpoint.disabled


def test_what_is_not_attempted_does_not_count_for_a_repeat_after_attempts(fake):
    failing(fake, disable_after=1)
    other = fake.webhooks.receiver()
    fake.send_text()
    fake.webhooks.duplicate(after=1, endpoint=other.endpoint)
    first, second = fake.send_text(to="+1"), fake.send_text(to="+2")
    fake.settle()

    assert [one.message_id for one in other.events[1:]] == [first.id, second.id, first.id]
    assert fake.webhooks.attempts


def test_nobody_waits_for_a_repeat_at_a_disabled_endpoint(fake):
    failing(fake, 200, disable_after=1)
    fake.webhooks.duplicate(pause=60)
    fake.send_text().deliver()

    assert stages(fake) == "sent, delivered 500 |  | sent disable_after not posted +60"


@pytest.mark.parametrize(
    ("enables", "last"),
    [(False, "sent disable_after not posted +60"), (True, "sent delay 204 +60")],
)
def test_a_delayed_event_still_comes_when_due_and_what_failed_does_not(fake, enables, last):
    endpoint = failing(fake, 500, 204, disable_after=2)
    fake.webhooks.delay(60)
    fake.webhooks.refuse(start=2)
    with fake.webhooks.paused():
        for _ in range(3):
            fake.send_text()
    fake.settle()
    if enables:
        endpoint.enable()
    fake.clock.advance(60)

    assert trail(fake) == f"sent refuse ConnectionRefusedError, sent 500, {last}"
    assert fake.webhooks.attempts[-1].event == fake.events[0]


def test_what_a_disabled_endpoint_missed_is_named_after_the_setting_alone(fake):
    failing(fake, disable_after=1)
    fake.webhooks.delay(60)
    fake.send_text().deliver()
    fake.clock.advance(60)

    assert trail(fake) == "delivered 500, sent disable_after not posted +60"
    failed, missed = fake.webhooks.attempts
    assert [mark[:2] for one in (failed, missed) for mark in one.marks] == [
        ("disable", "endpoint disabled"),
        ("disable_after", "endpoint disabled"),
    ]
    assert (missed.status_code, missed.body) == (None, b"")


def test_an_endpoint_of_a_closed_fake_is_not_enabled():
    with frozen_fake(strict=False) as fake:
        endpoint = failing(fake, disable_after=1)
        fake.send_text()
        assert fake.webhooks.attempts
    with pytest.raises(ClosedError):
        endpoint.enable()
    assert endpoint.disabled


@pytest.mark.parametrize("kind", ["refuse", "lose_response"])
def test_what_would_have_come_at_the_next_barrier_is_lost_though_enabled(fake, kind):
    endpoint = failing(fake, disable_after=2)
    beside = fake.webhooks.receiver()
    for one in (endpoint, beside.endpoint):
        getattr(fake.webhooks, kind)(endpoint=one)
    fake.send_text().deliver()  # the first fails by the fault, the second by its response
    endpoint.enable()
    fake.settle()

    assert [one.endpoint for one in fake.webhooks.attempts if one.number > 1] == [beside.endpoint]


def test_an_attempt_from_before_a_reset_does_not_count(fake):
    def handle(_):
        fake.reset()
        return 500

    endpoint = fake.webhooks.connect(handler=handle, disable_after=1)
    fake.send_text()

    assert endpoint.disabled is False
