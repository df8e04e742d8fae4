"""Attempts that failed are made again, on the fake's clock."""

import re
import socket
from datetime import timedelta

import pytest

from .fakes import fake_with_receiver, frozen_fake, stages, trail, warnings_at_the_end

#: Delays, what an app responds or raises, what is set up, and the attempts up to now | those of a
#: settle() | those of an hour.
RETRIED = {
    "each its delay after the last": (
        [10, 30.5, timedelta(minutes=5)],
        [503] * 9,
        None,
        "sent 503 |  | sent #2 503 +10, sent #3 503 +40.5, sent #4 503 +340.5",
    ),
    "at the same moment": ([0, 0], [500] * 2, None, "sent 500, sent #2 500, sent #3"),
    "after an exception": ([10], [KeyError("no")], None, "sent KeyError |  | sent #2 +10"),
    "whatever is not 2xx": (
        [1] * 4,
        [300, 404, 500, 599, 299],
        None,
        "sent 300 |  | sent #2 404 +1, sent #3 500 +2, sent #4 599 +3, sent #5 299 +4",
    ),
    "not after 204": ([1], [204], None, "sent 204"),
    # Faults
    "no fault concerns it": ([60], [500], lambda w: w.lose(start=2), "sent 500 |  | sent #2 +60"),
    "nor waits for one": ([60], [500], lambda w: w.reorder(start=2), "sent 500 |  | sent #2 +60"),
    "not of what is lost": ([60], [], lambda w: w.lose(), "sent lose not posted"),
    "of what was late, at a barrier": (
        [60],
        [409],
        lambda w: w.reorder(),
        " | sent reorder 409, sent #2 +60",
    ),
    "of what was delayed": (
        [60],
        [409],
        lambda w: w.delay(30),
        " |  | sent delay 409 +30, sent #2 +90",
    ),
    "of what was duplicated, waited for": (
        [60],
        [500],
        lambda w: w.duplicate(),
        "sent 500, sent duplicate | sent #2 +60",
    ),
    "of what was only written otherwise": (
        [60],
        [500],
        lambda w: (w.evolve(), w.tamper(), w.sign(lambda _: {})),
        "sent sign 500 |  | sent #2 +60",
    ),
    "refused, which uses up none": (
        [60, 300],
        [500] * 5,
        lambda w: w.refuse(),
        "sent refuse ConnectionRefusedError | sent #2 500, sent #3 500 +60, sent #4 500 +360",
    ),
    "its response lost, which uses up none": (
        [60, 300],
        [500] * 5,
        lambda w: w.lose_response(),
        "sent lose_response TimeoutError | sent #2 500, sent #3 500 +60, sent #4 500 +360",
    ),
}


@pytest.mark.parametrize(
    ("delays", "responses", "set_up", "expected"), RETRIED.values(), ids=RETRIED
)
def test_an_attempt_is_retried(delays, responses, set_up, expected):
    left = iter(responses)

    def app(_):
        response = next(left, 200)
        if isinstance(response, Exception):
            raise response
        return response

    with frozen_fake(retry_after=delays, strict=False) as fake:
        fake.webhooks.connect(handler=app)
        if set_up:
            set_up(fake.webhooks)
        fake.send_text()

        assert stages(fake) == expected
        fake.reset()  # no word about what failed


def test_a_refused_connection_is_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with frozen_fake(retry_after=[1]) as fake:
        fake.webhooks.connect(closed)
        fake.send_text()
        fake.clock.advance(1)

        assert trail(fake) == "sent ConnectionRefusedError, sent #2 ConnectionRefusedError +1"


def test_an_endpoint_may_have_retries_of_its_own_or_none():
    options = [{}, {"retry_after": [1, 1, 1]}, {"retry_after": []}]
    with frozen_fake(retry_after=[1]) as fake:
        endpoints = [fake.webhooks.connect(handler=lambda _: 500, **one) for one in options]
        fake.send_text()
        fake.clock.advance(60)

        tried = [one.endpoint for one in fake.webhooks.attempts]
        assert [tried.count(endpoint) for endpoint in endpoints] == [2, 4, 1]


def test_a_held_back_retry_is_made_at_its_release_and_the_next_after_that():
    with fake_with_receiver(retry_after=[10, 30]) as (fake, receiver):
        receiver.respond(500, times=3)
        fake.send_text()
        with fake.webhooks.paused() as queue:
            fake.clock.advance(60)
            queue.release()
            assert trail(fake) == "sent 500, sent #2 500 +60"
        fake.clock.advance(60)

        assert trail(fake) == "sent 500, sent #2 500 +60, sent #3 500 +90"


def test_a_retry_that_falls_due_while_a_receiver_moves_time_comes_after_it():
    def app(request):
        if request.number == 1:
            fake.clock.advance(60)
        return 500

    with frozen_fake(retry_after=[10, 30]) as fake:
        fake.webhooks.connect(handler=app)
        fake.send_text()
        fake.clock.advance(60)

        assert trail(fake) == "sent 500, sent #2 500 +10, sent #3 500 +40"  # when it was due


def test_a_retry_that_waits_for_another_one_is_made_after_that_and_not_when_due():
    def app(request):
        if request.number == 2:
            fake.clock.advance(60)
        return 500 if request.number == 1 else 200

    with frozen_fake(retry_after=[10]) as fake:
        for _ in range(2):
            fake.webhooks.connect(handler=app)
        fake.send_text()
        fake.clock.advance(10)

        assert trail(fake) == "sent 500, sent 500, sent #2 +10, sent #2 +70"


def test_an_assertion_of_a_handler_is_a_failure_of_the_test_each_time():
    def handler(_):
        raise AssertionError("the price is wrong")

    with frozen_fake(retry_after=[10]) as fake:
        fake.webhooks.connect(handler=handler)
        for attempt in (fake.send_text, lambda: fake.clock.advance(10)):
            with pytest.raises(AssertionError, match="the price is wrong"):
                attempt()
        assert trail(fake) == "sent AssertionError, sent #2 AssertionError +10"


# -- what is news ----------------------------------------------------------------------------------

FAILED = r" failed; fix the app, or assert on chat_fake\.webhooks\.attempts:"
LINE = (
    r"\n  sent m1 \(message \w+\) \(caused at test_retries\.py:\d+\) "
    r"to app_of\.<locals>\.app \(WSGI\) /hooks: status "
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


def test_a_retry_that_is_due_is_no_news_though_settle_would_wait_for_it():
    def scenario(fake):
        fake.webhooks.connect(wsgi=app_of(500, 200))
        fake.webhooks.duplicate()
        fake.send_text()

    assert warnings_at_the_end(scenario, retry_after=[60]) == []
