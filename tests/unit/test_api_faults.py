"""The API's bad day, without a socket: balance queries that fail, lag, break or are limited."""

from datetime import timedelta

import pytest
from werkzeug.test import Client, EnvironBuilder


def query(fake):
    return Client(fake.wsgi_app).get("/v2/balance", headers={"X-API-Key": fake.api_key})


def answers(fake, count):
    return [query(fake).status_code for _ in range(count)]


def test_a_failure_has_the_shape_of_the_apis_errors(fake):
    fault = fake.api.fail()
    answer = query(fake)

    expected = {"status": 503, "code": "SERVICE_UNAVAILABLE", "message": "SERVICE_UNAVAILABLE"}
    assert (503, {"error": expected}) == (answer.status_code, answer.json)
    assert answer.content_type == "application/json"
    assert answers(fake, 1) == [200]
    assert fault.fired == 1
    assert repr(fault) == "<ApiFault api.fail(503), fired 1 time>"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"status": 500}, "INTERNAL_SERVER_ERROR", "INTERNAL_SERVER_ERROR"),
        ({"status": 599}, "STATUS_599", "STATUS_599"),
        ({"status": 400, "code": "OWN"}, "OWN", "OWN"),
        ({"status": 400, "code": "OWN", "message": "Because."}, "OWN", "Because."),
        ({"status": 402, "message": "Pay."}, "PAYMENT_REQUIRED", "Pay."),
    ],
)
def test_status_code_and_message_are_the_tests(fake, options, code, message):
    fake.api.fail(**options)

    expected = {"status": options["status"], "code": code, "message": message}
    assert {"error": expected} == query(fake).json


@pytest.mark.parametrize(
    ("status", "body"),
    [(502, "<html>down</html>"), (502, b"\xff{"), (200, ""), (200, '{"amount": "many"}')],
)
def test_a_body_can_be_anything(fake, status, body):
    fake.api.fail(status, body=body)
    answer = query(fake)

    assert status == answer.status_code
    assert (body if isinstance(body, bytes) else body.encode()) == answer.data


def test_the_account_is_down_until_told_otherwise(fake):
    fault = fake.api.fail(times=None)
    assert answers(fake, 3) == [503] * 3
    fault.remove()
    assert answers(fake, 1) == [200]
    with fake.api.fail(times=None):
        assert answers(fake, 2) == [503] * 2
    assert answers(fake, 1) == [200]


@pytest.mark.parametrize(("length", "kept"), [(None, 16), (0, 0), (5, 5), (1_000, 33)])
def test_a_truncated_answer_promises_all_of_it(fake, length, kept):
    whole = b'{"amount":100,"currency":"USD"}'
    fake.api.truncate(length)
    sent = []
    environ = EnvironBuilder(path="/v2/balance", headers={"X-API-Key": fake.api_key}).get_environ()
    body = b"".join(fake.wsgi_app(environ, lambda status, headers: sent.append(headers)))

    kept = len(whole) // 2 if length is None else kept
    assert whole[:kept] == body
    assert ("Content-Length", str(len(whole))) in sent[0]


def test_a_rate_limit_holds_until_its_time_has_passed_on_the_fakes_clock(fake):
    fault = fake.api.rate_limit(30)
    fake.clock.advance(100)  # it begins with the first query that meets it
    first = query(fake)
    fake.clock.advance(12.5)
    second = query(fake)
    fake.clock.advance(seconds=17, microseconds=499_999)
    third = query(fake)
    fake.clock.advance(microseconds=1)

    assert [(one.status_code, one.headers["Retry-After"]) for one in (first, second, third)] == [
        (429, "30"),
        (429, "18"),
        (429, "1"),
    ]
    assert first.json["error"] == {
        "status": 429,
        "code": "TOO_MANY_REQUESTS",
        "message": "RATE_LIMIT_EXCEEDED",
    }
    assert answers(fake, 2) == [200, 200]
    assert fault.fired == 3


def test_a_rate_limit_may_be_met_a_number_of_times_only(fake):
    fake.api.rate_limit(timedelta(hours=1), times=2, start=2)

    assert answers(fake, 4) == [200, 429, 429, 200]


@pytest.mark.parametrize("more", ["code", "message"])
def test_a_whole_body_excludes_its_parts(fake, more):
    with pytest.raises(ValueError, match="either body="):
        fake.api.fail(body="x", **{more: "Y"})


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_can_have_no_body_has_no_header_of_one(fake, status):
    fake.api.fail(status, body="never seen")
    answer = query(fake)

    assert (status, b"") == (answer.status_code, answer.data)
    assert not {"Content-Type", "Content-Length"} & set(answer.headers.keys())
