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


def test_each_retry_comes_its_delay_after_the_last_and_the_list_ends_them():
    with fake_with_receiver(retry_after=[10, 30.5, timedelta(minutes=5)]) as (fake, receiver):
        receiver.respond(503, times=100)
        fake.send_text()
        fake.clock.advance(hours=1)

        assert seconds(fake) == [0, 10, 40.5, 340.5]
        assert [("sent", number, None, 503) for number in (1, 2, 3, 4)] == attempt_rows(fake)


def test_a_retry_has_the_same_id_and_the_same_bytes():
    with fake_with_receiver(retry_after=[10, 30]) as (fake, receiver):
        receiver.respond(500, times=2)
        fake.send_text()
        fake.clock.advance(hours=1)

        (event,) = fake.events
        assert [(event.id, event.body, number) for number in (1, 2, 3)] == [
            (request.id, request.body, request.number) for request in receiver.requests
        ]


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


def test_a_delay_of_nothing_is_a_retry_at_the_same_moment():
    with fake_with_receiver(retry_after=[0, 0]) as (fake, receiver):
        receiver.respond(500, times=2)
        fake.send_text()
        fake.settle()

        assert seconds(fake) == [0, 0, 0]


def app_that_answers(*answers):
    left = list(answers)

    def app(environ, start_response):
        start_response(f"{left.pop(0)} whatever", [])
        return []

    return app


def test_a_retry_that_made_it_good_needs_no_warning():
    def scenario(fake):
        fake.webhooks.connect(wsgi=app_that_answers(500, 200))
        fake.send_text()
        fake.clock.advance(1)

    assert warnings_at_the_end(scenario, retry_after=[1]) == []


def test_a_failure_is_no_news_while_its_retry_is_due():
    def scenario(fake):
        fake.webhooks.connect(wsgi=app_that_answers(500))
        fake.send_text()

    assert warnings_at_the_end(scenario, retry_after=[1]) == []


def test_a_failure_whose_retry_will_never_be_made_is_news():
    def scenario(fake):
        endpoint = fake.webhooks.connect(wsgi=app_that_answers(500))
        fake.send_text()
        endpoint.disconnect()

    (text,) = warnings_at_the_end(scenario, retry_after=[1])
    assert text.startswith("1 attempt failed")


def test_retries_that_are_all_in_vain_are_one_line_of_a_warning():
    def scenario(fake):
        fake.webhooks.connect(wsgi=app_that_answers(500, 500, 500), path="/hooks")
        fake.send_text()
        fake.clock.advance(10)

    (text,) = warnings_at_the_end(scenario, retry_after=[1, 1])
    head, line = text.splitlines()
    assert head == "3 attempts failed: repair the app, or assert on chat_fake.webhooks.attempts:"
    assert line.startswith("  sent m1 (message ")
    caused = f"), caused at test_retries.py:{scenario.__code__.co_firstlineno + 2}"
    at = ", at app_that_answers.<locals>.app (WSGI) /hooks: status 500 (did it raise?"
    assert f"{caused}{at}" in line
    assert line.endswith(" (3 times)")


def test_a_retry_that_fails_in_another_way_is_an_attempt_of_its_own():
    def scenario(fake):
        fake.webhooks.connect(wsgi=app_that_answers(401, 302))
        fake.send_text()
        fake.clock.advance(10)

    (text,) = warnings_at_the_end(scenario, retry_after=[1])
    head, *lines = text.splitlines()
    assert head.startswith("2 attempts failed")
    assert [re.findall(r"status (\d+)", line) for line in lines] == [["401"], ["302"]]


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
