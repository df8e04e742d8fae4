"""The header in which requests carry the key."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest

from pytest_chatfake import ChatFake, ChatFakeError

from .api_clients import INVALID_KEY_BODY
from .api_clients import call_with_werkzeug as call


def by_basic(headers):
    scheme, _, encoded = headers.get("Authorization", "").partition(" ")
    return b64decode(encoded).decode().partition(":")[2] if scheme == "Basic" else None


def basic(key):
    return "Basic " + b64encode(f"AC1:{key}".encode()).decode()


def requests_of(fake):
    return [str(request) for request in fake.api.requests]


@pytest.mark.parametrize(
    ("given", "header", "value"),
    [
        ("X-API-Key: {api_key}", "X-API-Key", "key-123456"),
        ("Authorization: Bearer {api_key}", "Authorization", "Bearer key-123456"),
        ("authorization:Bearer {api_key}", "Authorization", "bearer key-123456"),
        ("X-Postmark-Server-Token: {api_key}", "X-Postmark-Server-Token", "key-123456"),
        ("D360-Key: ({api_key})", "D360-Key", "(key-123456)"),
        (by_basic, "Authorization", basic("key-123456")),
    ],
)
def test_the_key_is_taken_from_the_header(given, header, value):
    with ChatFake(api_key="key-123456", api_key_header=given) as fake:
        assert call(fake, key=None, **{header: value}).status == 200


@pytest.mark.parametrize("value", ["key-123456", "Token key-123456", "Bearer key-12345", "Bearer"])
def test_a_key_in_another_form_is_401(value):
    with ChatFake(api_key="key-123456", api_key_header="Authorization: Bearer {api_key}") as fake:
        assert call(fake, key=None, Authorization=value).status == 401


def test_headers_of_the_fake_are_unknown_if_a_function_finds_the_key():
    with ChatFake(api_key_header=by_basic) as fake, pytest.raises(ChatFakeError) as error:
        _ = fake.headers

    assert str(error.value) == (
        "chat_fake.headers: api_key_header= is a function, so only your client knows the header. "
        "Write it yourself, with chat_fake.api_key in it"
    )


def test_fakes_with_different_headers_live_side_by_side():
    with (
        ChatFake(opening_balance=1) as one,
        ChatFake(opening_balance=2, api_key_header="Authorization: Bearer {api_key}") as two,
        ChatFake(opening_balance=3, api_key_header=by_basic) as three,
    ):
        headers = [one.headers, two.headers, {"Authorization": basic(three.api_key)}]
        found = [call(one, key=None, **each).json()["amount"] for each in headers]

        assert found == [1, 2, 3]
        assert [len(fake.api.requests) for fake in (one, two, three)] == [1, 1, 1]


def test_each_fake_names_the_header_that_it_looked_for():
    found = []
    for given in ("X-API-Key: {api_key}", "Authorization: Bearer {api_key}", by_basic):
        with ChatFake(api_key_header=given) as fake:
            call(fake, key=None)
            found += requests_of(fake)

    assert found == [
        "GET /v2/balance with no X-API-Key: 401",
        "GET /v2/balance with no Authorization: 401",
        "GET /v2/balance with no API key: 401",
    ]


def test_the_401_says_which_header_was_expected():
    with ChatFake(api_key_header="Authorization: Bearer {api_key}") as fake:
        error = call(fake).json()["error"]

    assert error == INVALID_KEY_BODY["error"] | {"expected": "the key in Authorization"}


def test_a_key_in_another_header_says_which_setting_takes_it(fake):
    hint = (
        'write @pytest.mark.chat_fake(api_key_header="Authorization: Bearer {api_key}") above the '
        "test or class, because the key came in that header"
    )
    call(fake, key=None, Authorization=f"Bearer {fake.api_key}")

    assert requests_of(fake) == [f"GET /v2/balance with no X-API-Key: 401 ({hint})"]


def test_a_rotated_key_is_taken_from_the_same_header():
    with ChatFake(api_key_header="Authorization: Bearer {api_key}") as fake:
        old = fake.headers
        fake.rotate_key()

        assert [call(fake, key=None, **each).status for each in (old, fake.headers)] == [401, 200]


@pytest.mark.parametrize("found", [b"key-123456", 5])
def test_a_function_that_returns_something_else_is_refused_without_the_key(found):
    with ChatFake(api_key_header=lambda _: found) as fake, pytest.raises(TypeError) as error:
        call(fake)

    assert str(error.value) == (
        "what the api_key_header= function returned: expected a str or None, got "
        f"{type(found).__name__}"
    )
