"""The HTTP API without a socket: the balance, the key, errors, the log (§4.1, §5, §7)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from pytest_chatfake import ChatFake

from .api_clients import INVALID_KEY_BODY
from .fakes import frozen_fake

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


# -- the balance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "amount",
    [
        "190.07658",
        "0",
        "1234567890123456789012345678",
        "0.1234567890123456789012345678",
        "1E+3",
        "1E-7",
    ],
)
def test_the_amount_reads_back_digit_for_digit(call_api, amount):
    with frozen_fake(opening_balance=amount, currency="EUR") as fake:
        response = call_api(fake)

        assert (response.status, response.headers["content-type"]) == (200, "application/json")
        assert str(len(response.body)) == response.headers["content-length"]
        assert f'{{"amount":{Decimal(amount):f},"currency":"EUR"}}'.encode() == response.body


def test_head_has_the_headers_of_get_and_no_body(fake, call_api):
    get, head = call_api(fake), call_api(fake, "HEAD")

    assert (head.status, head.body, head.headers) == (200, b"", get.headers)
    assert [one.method for one in fake.api.requests] == ["GET", "HEAD"]


# -- the key ---------------------------------------------------------------------------------------

BAD_KEYS = {
    "wrong": "key_0000000000000000",
    "empty": "",
    "absent": None,
    "blank": " ",
    "not ASCII": "schlüssel",
    "long": "k" * 10_000,
}


@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS)
def test_any_other_key_is_401(fake, call_api, key):
    response = call_api(fake, key=key)

    assert (response.status, response.json()) == (401, INVALID_KEY_BODY)
    assert response.headers["content-type"] == "application/json"
    assert call_api(fake, "HEAD", key=key)[::2] == (401, b"")


def test_several_accounts_are_told_apart_by_their_keys(call_api):
    with frozen_fake(opening_balance="1") as one, ChatFake(opening_balance="2") as other:
        keys = (one.api_key, other.api_key)
        assert [call_api(one, key=key).json()["amount"] for key in keys] == [1, 2]
        assert [len(fake.api.requests) for fake in (one, other)] == [1, 1]


def test_the_key_of_a_fake_that_is_closed_is_401(call_api):
    with frozen_fake() as fake:
        key = fake.api_key
    with frozen_fake() as other:
        assert call_api(other, key=key).json() == INVALID_KEY_BODY


def test_a_rotated_key_is_the_only_one_that_is_taken(fake, call_api):
    old = fake.api_key
    new = fake.rotate_key()

    assert new == fake.api_key != old
    assert [call_api(fake, key=old).status, call_api(fake, key=new).status] == [401, 200]
    assert new != fake.rotate_key()


# -- other paths and methods -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "NOT_FOUND"),
        ("GET", "/V2/balance", 404, "NOT_FOUND"),
        ("POST", "/v2/messages", 404, "NOT_FOUND"),
        ("POST", "/v2/balance", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/v2/balance", 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_at_other_paths_the_response_has_the_shape_of_an_error(
    fake, call_api, method, path, status, code
):
    response = call_api(fake, method, path)

    assert status == response.status
    assert {"error": {"status": status, "code": code, "message": code}} == response.json()
    if status == 405:
        assert {"GET", "HEAD"} == set(response.headers["allow"].split(", "))


# -- the log ---------------------------------------------------------------------------------------


def test_the_log_holds_method_path_key_status_and_time(call_api):
    with frozen_fake(api_key="secret-key-1234") as fake:
        fake.route("/x")(lambda _: ({}, 201))
        call_api(fake, path="/v2/balance?a=1")
        fake.clock.advance(5)
        call_api(fake, "POST", "/x")
        call_api(fake, "GET", "/nowhere")
        call_api(fake, key="another-key-9876")
        call_api(fake, key=None)
        call_api(fake, key="short")

        assert [str(one) for one in fake.api.requests] == [
            "GET /v2/balance with the API key ...1234: 200",
            "POST /x with the API key ...1234: 201",
            "GET /nowhere with the API key ...1234: 404 (your routes: POST /x)",
            "GET /v2/balance with the API key ...9876 (not this fake's): 401",
            "GET /v2/balance with no X-API-Key: 401",
            "GET /v2/balance with the API key ... (not this fake's): 401",
        ]
        assert [(one.at - NOON).seconds for one in fake.api.requests[:2]] == [0, 5]
        assert not any("secret" in repr(one) for one in fake.api.requests)


def test_a_held_request_gets_its_status_when_the_response_leaves(fake, call_api):
    held = []

    @fake.route("/v2/messages")
    def send(_):
        held.extend(fake.api.requests)
        assert [(request.status, request.at) for request in held] == [(None, NOON)]
        fake.clock.advance(7)
        return {}, 202

    call_api(fake, "POST", "/v2/messages")

    (request,) = held
    assert (202, NOON + timedelta(seconds=7)) == (request.status, request.at)
    assert request is fake.api.requests[0]


def test_requests_are_asserted(fake, call_api):
    for times, key in enumerate((fake.api_key, None)):
        fake.assert_requested("get", "/v2/balance", times=times)
        call_api(fake, key=key)
    fake.assert_requested("GET", "/v2/balance")
    fake.assert_requested("POST", "/v2/balance", times=0)
