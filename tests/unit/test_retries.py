"""Attempts that failed are made again, on the fake's clock."""

import re
import socket
from datetime import UTC, datetime, timedelta

import pytest

from .fakes import (
    attempt_rows,
    fake_with_receiver,
    frozen_fake,
    warnings_at_the_end,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seconds(fake):
    """When the attempts were made, in seconds after noon."""
    return [(one.at - NOON).total_seconds() for one in fake.webhooks.attempts]


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_each_retry_comes_its_delay_after_the_last_with_the_same_bytes():
    delays = [10, 0, 30.5, timedelta(minutes=5)]
    with fake_with_receiver(retry_after=delays) as (fake, receiver):
        receiver.respond(503, times=100)
        fake.send_text()
        fake.clock.advance(hours=1)

        assert seconds(fake) == [0, 10, 10, 40.5, 340.5]
        assert attempt_rows(fake) == [("sent", number, None, 503) for number in range(1, 6)]
        (event,) = fake.events
        requests = [(request.id, request.body, request.number) for request in receiver.requests]
        assert requests == [(event.id, event.body, number) for number in range(1, 6)]


@pytest.mark.parametrize("status", [200, 204, 299, 300, 404, 500, 599])
def test_whatever_is_not_2xx_is_tried_again(status):
    with frozen_fake(retry_after=[1]) as fake:
        fake.webhooks.connect(handler=lambda request: status)
        fake.send_text()
        fake.clock.advance(1)

        assert (1 if status < 300 else 2) == len(fake.webhooks.attempts)


def test_a_refused_connection_is_tried_again():
    with frozen_fake(retry_after=[1]) as fake:
        fake.webhooks.connect(closed_port())
        fake.send_text()
        fake.clock.advance(1)

        assert attempt_rows(fake) == [("sent", 1, None, None), ("sent", 2, None, None)]
        assert all(isinstance(one.error, ConnectionRefusedError) for one in fake.webhooks.attempts)


def test_with_retries_an_exception_is_an_attempt_that_failed():
    def app(request):
        if request.number == 1:
            raise KeyError("not ready")

    with frozen_fake(retry_after=[10]) as fake:
        fake.webhooks.connect(handler=app)
        fake.send_text()
        fake.clock.advance(10)

        assert attempt_rows(fake) == [("sent", 1, None, None), ("sent", 2, None, 200)]
        assert isinstance(fake.webhooks.attempts[0].error, KeyError)


def test_an_endpoint_may_have_retries_of_its_own_or_none():
    options = [{}, {"retry_after": [1, 1, 1]}, {"retry_after": []}]
    with frozen_fake(retry_after=[1]) as fake:
        endpoints = [fake.webhooks.connect(handler=lambda _: 500, **one) for one in options]
        fake.send_text()
        fake.clock.advance(60)

        tried = [one.endpoint for one in fake.webhooks.attempts]
        assert [tried.count(endpoint) for endpoint in endpoints] == [2, 4, 1]


FAILED = r" failed: repair the app, or assert on chat_fake\.webhooks\.attempts:"
LINE = (
    r"\n  sent m1 \(message \w+\), caused at test_retries\.py:\d+, "
    r"at app_of\.<locals>\.app \(WSGI\) /hooks: status "
)


def app_of(*statuses):
    left = list(statuses)

    def app(environ, start_response):
        start_response(f"{left.pop(0)} whatever", [])
        return []

    return app


@pytest.mark.parametrize(
    ("statuses", "retries", "seconds", "expected"),
    [
        ([500, 200], [1], 1, ""),
        ([500], [1], 0, ""),  # the retry is due
        ([500], [1], None, f"1 attempt{FAILED}{LINE}500.*"),  # and will never be made
        ([500, 500, 500], [1, 1], 10, rf"3 attempts{FAILED}{LINE}500.* \(3 times\)"),
        ([401, 302], [1], 10, f"2 attempts{FAILED}{LINE}401.*{LINE}302.*"),
    ],
)
def test_what_failed_is_news_when_its_last_retry_has_failed(statuses, retries, seconds, expected):
    def scenario(fake):
        endpoint = fake.webhooks.connect(wsgi=app_of(*statuses), path="/hooks")
        fake.send_text()
        if seconds is None:
            endpoint.disconnect()
        else:
            fake.clock.advance(seconds)

    assert re.fullmatch(expected, "".join(warnings_at_the_end(scenario, retry_after=retries)))


def test_a_held_back_retry_is_made_at_its_release_and_the_next_after_that():
    with fake_with_receiver(retry_after=[10, 30]) as (fake, receiver):
        receiver.respond(500, times=3)
        fake.send_text()
        with fake.webhooks.paused() as queue:
            fake.clock.advance(60)
            queue.release()
            assert seconds(fake) == [0, 60]
        fake.clock.advance(60)

        assert seconds(fake) == [0, 60, 90]


def test_a_retry_that_falls_due_while_a_receiver_moves_time_comes_after_it():
    with frozen_fake(retry_after=[10, 30]) as fake:

        def app(request):
            if request.number == 1:
                fake.clock.advance(60)
            return 500

        fake.webhooks.connect(handler=app)
        fake.send_text()
        fake.clock.advance(60)

        assert [one.number for one in fake.webhooks.attempts] == [1, 2, 3]
        assert seconds(fake) == [0, 10, 40]  # when it was due


def test_with_retries_an_assertion_of_a_handler_is_a_failure_all_the_same():
    def handler(_):
        raise AssertionError("the price is wrong")

    with frozen_fake(retry_after=[10]) as fake:
        fake.webhooks.connect(handler=handler)
        with pytest.raises(AssertionError, match="the price is wrong"):
            fake.send_text()
        with pytest.raises(AssertionError, match="the price is wrong"):
            fake.clock.advance(10)  # the attempt that was made again
        _ = fake.webhooks.attempts
