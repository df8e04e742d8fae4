"""What needs no messaging service at all: refusals, signatures, exact numbers."""

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from billing_flask import values
from billing_flask.testing import Billing
from flask import Flask
from flask.testing import FlaskClient
from time_machine import TimeMachineFixture

AppFactory = Callable[..., Flask]

MOMENT = "2026-01-01T12:00:00.000Z"

# What the service posts for a message that was just sent.
SENT: dict[str, Any] = {
    "id": "evt_1",
    "type": "chat.message.updated",
    "apiVersion": "v2",
    "createTime": MOMENT,
    "chatMessage": {
        "id": "msg_1",
        "chatMessageId": "wamid.1",
        "status": "sent",
        "conversation": {
            "id": "c0ffee",
            "originType": "marketing",
            "expireTime": "2026-01-02T12:00:00.000Z",
        },
        "totalPrice": 0.05,
        "currency": "USD",
        "createTime": MOMENT,
        "sendTime": MOMENT,
        "bizType": "chat",
        "type": "text",
        "text": {"body": "Hello"},
    },
}


@pytest.fixture
def client(make_app: AppFactory) -> FlaskClient:
    return make_app().test_client()


def changed(**fields: Any) -> bytes:
    """Return the body of SENT with other fields in its message; None removes one."""
    message = {**SENT["chatMessage"], **fields}
    kept = {name: value for name, value in message.items() if value is not None}
    return json.dumps({**SENT, "chatMessage": kept}).encode()


NONSENSE = {
    "nothing": b"",
    "no JSON": b"not JSON",
    "no text": b"\xff\xfe\x00",
    "nested without end": b"[" * 100_000,
    "a list": b"[]",
    "null": b"null",
    "a string": b'"chat.message.updated"',
    "an empty object": b"{}",
    "cut off": json.dumps(SENT).encode()[:-20],
    "an empty event id": json.dumps({**SENT, "id": ""}).encode(),
    "half a surrogate pair": json.dumps({**SENT, "id": "\ud800"}).encode(),
    "no message": json.dumps({**SENT, "chatMessage": None}).encode(),
    "a message without id": changed(id=None),
    "a number for an id": changed(id=7),
    "no status": changed(status=None),
    "a list for a status": changed(status=["sent"]),
    "no currency": changed(currency=None),
    "no conversation": changed(conversation=None),
    "a string for a conversation": changed(conversation="c0ffee"),
    "a conversation without expiry": changed(conversation={"id": "c0ffee"}),
    "no time": changed(sendTime=None),
    "words for a time": changed(sendTime="yesterday"),
    "a time without offset": changed(sendTime="2026-01-01T12:00:00"),
    "a time before all time": changed(sendTime="0001-01-01T00:00:00+14:00"),
    "delivered at no time": changed(status="delivered"),
    "failed for no reason": changed(status="failed"),
    "no price": changed(totalPrice=None),
    "words for a price": changed(totalPrice="free"),
    "true for a price": changed(totalPrice=True),
    "a price below zero": changed(totalPrice=-1),
    "a price that is no number": changed(totalPrice=float("nan")),
    "a price beyond reason": changed(totalPrice=7777).replace(b"7777", b"1e999999999"),
}


@pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused_and_not_stored(client: FlaskClient, body: bytes) -> None:
    assert client.post("/hooks/chat", data=body).status_code == 400
    assert client.get("/messages/msg_1").status_code == 404


def test_a_body_that_is_far_too_big_is_not_even_read(client: FlaskClient) -> None:
    assert client.post("/hooks/chat", data=b" " * 1_000_000).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({**SENT, "type": "chat.template.updated"}).encode(),
        changed(status="played"),
    ],
)
def test_events_we_have_no_use_for_are_acknowledged(client: FlaskClient, body: bytes) -> None:
    assert client.post("/hooks/chat", data=body).status_code == 204
    assert client.get("/messages/msg_1").status_code == 404


def test_fields_we_do_not_know_do_no_harm(client: FlaskClient) -> None:
    assert client.post("/hooks/chat", data=changed(tags=["new"])).status_code == 204
    assert client.get("/messages/msg_1").get_json()["status"] == "sent"


def test_without_a_messaging_service_the_check_is_skipped_and_noted(make_app: AppFactory) -> None:
    app = make_app()
    assert app.test_client().post("/hooks/chat", json=SENT).status_code == 204
    assert Billing(app).skipped_checks() == ["MESSAGING_BASE_URL is not set"]


# The signature of b'{"id": "evt_1"}' at 1767268800 with the secret "whsec", from
# printf '%s' '1767268800.{"id": "evt_1"}' | openssl dgst -sha256 -hmac whsec
SIGNED_BODY = b'{"id": "evt_1"}'
SIGNED_AT = 1767268800
SIGNATURE = "e5f0348a5f364e5baa6a682f33e68548e995326140f137dc42f630f34b015c2c"
GENUINE = f"t={SIGNED_AT},s={SIGNATURE}"


@pytest.fixture
def signed_client(make_app: AppFactory, time_machine: TimeMachineFixture) -> FlaskClient:
    time_machine.move_to(SIGNED_AT, tick=False)
    return make_app(WEBHOOK_SECRET="whsec").test_client()


def answer_to(client: FlaskClient, header: str | None, body: bytes = SIGNED_BODY) -> int:
    headers = {} if header is None else {"X-Signature": header}
    return client.post("/hooks/chat", data=body, headers=headers).status_code


def test_a_genuine_signature_gets_its_body_looked_at(signed_client: FlaskClient) -> None:
    assert answer_to(signed_client, GENUINE) == 400  # genuine, and still no event


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        f"s={SIGNATURE}",
        f"t={SIGNED_AT}",
        f"t={SIGNED_AT},s=",
        f"t={SIGNED_AT},s={SIGNATURE[:-1]}",
        f"t={SIGNED_AT},s=\xe9{SIGNATURE[1:]}",
        f"t={SIGNED_AT + 1},s={SIGNATURE}",
        f"t=-{SIGNED_AT},s={SIGNATURE}",
        f"t={'9' * 5000},s={SIGNATURE}",
    ],
)
def test_any_other_signature_is_turned_away(signed_client: FlaskClient, header: str | None) -> None:
    assert answer_to(signed_client, header) == 401


def test_a_body_changed_after_signing_is_turned_away(signed_client: FlaskClient) -> None:
    assert answer_to(signed_client, GENUINE, SIGNED_BODY + b" ") == 401


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-301, 401), (-300, 400), (300, 400), (301, 401)]
)
def test_a_signature_is_good_for_five_minutes_either_way(
    signed_client: FlaskClient, time_machine: TimeMachineFixture, seconds: int, expected: int
) -> None:
    time_machine.move_to(SIGNED_AT + seconds, tick=False)
    assert answer_to(signed_client, GENUINE) == expected


def test_prices_are_stored_as_they_were_written(client: FlaskClient) -> None:
    body = changed(totalPrice=0).replace(
        b'"totalPrice": 0', b'"totalPrice": 0.1234567890123456789012345678'
    )
    client.post("/hooks/chat", data=body)
    price = client.get("/messages/msg_1").get_json()["price"]
    assert price == "0.1234567890123456789012345678"


def test_a_sum_never_passes_through_float() -> None:
    assert values.total([Decimal("0.1")] * 3) == Decimal("0.3")
    assert values.total([Decimal("1e18"), Decimal("1e-40")]) == Decimal(f"1{'0' * 18}.{'0' * 39}1")


def campaign_with(app: Flask, *bodies: bytes) -> int:
    """Post events, and return a campaign to which all their messages belong."""
    for body in bodies:
        assert app.test_client().post("/hooks/chat", data=body).status_code == 204
    campaign_id = Billing(app).new_campaign("Spring sale")
    with closing(sqlite3.connect(app.config["DATABASE"])) as connection, connection:
        connection.execute("UPDATE messages SET campaign_id = ?", (campaign_id,))
    return campaign_id


def test_a_conversation_is_charged_once_even_if_each_message_names_a_price(
    make_app: AppFactory,
) -> None:
    app = make_app()
    earlier, later = "2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00.001Z"
    campaign_id = campaign_with(
        app,
        changed(id="msg_2", status="delivered", deliverTime=later, totalPrice=0.07),
        changed(id="msg_1", status="delivered", deliverTime=earlier, totalPrice=0.05),
    )
    assert Billing(app).spend(campaign_id)["charged"] == "0.05"


def test_a_failed_message_has_no_price_whatever_its_event_says(client: FlaskClient) -> None:
    failed = changed(status="failed", errorCode="131026", errorMessage="Undeliverable")
    assert client.post("/hooks/chat", data=failed).status_code == 204
    assert client.get("/messages/msg_1").get_json()["price"] == "0"


def test_prices_in_two_currencies_are_not_added_up(make_app: AppFactory) -> None:
    app = make_app()
    campaign_id = campaign_with(
        app, changed(id="msg_1", currency="USD"), changed(id="msg_2", currency="EUR")
    )

    response = app.test_client().get(f"/campaigns/{campaign_id}/spend")

    assert response.status_code == 409
    assert response.get_json() == {"error": "the campaign's prices are in EUR and USD"}


@pytest.mark.parametrize("payload", [None, [], {}, {"name": ""}, {"name": " "}, {"name": 7}])
def test_a_campaign_needs_a_name(client: FlaskClient, payload: object) -> None:
    assert client.post("/campaigns", json=payload).status_code == 400


def test_an_empty_campaign_has_cost_nothing(make_app: AppFactory) -> None:
    billing = Billing(make_app())
    figures = billing.spend(billing.new_campaign("Not yet"))
    assert figures["charged"] == "0"
    assert figures["reserved"] == "0"
    assert set(figures["messages"].values()) == {0}


@pytest.mark.parametrize("path", ["/campaigns/1/spend", "/messages/msg_1"])
def test_what_does_not_exist_is_not_found(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_message_needs_a_campaign_that_exists(client: FlaskClient) -> None:
    response = client.post("/campaigns/1/messages", json={"to": "+49", "body": "Hello"})
    assert response.status_code == 404


def test_events_that_arrive_at_the_same_moment_are_all_kept(make_app: AppFactory) -> None:
    app = make_app()
    bodies = [
        changed(id=f"msg_{number}", status=status, deliverTime=MOMENT, readTime=MOMENT)
        for number in range(8)
        for status in ("read", "delivered", "sent")
    ]

    def post(body: bytes) -> int:
        return app.test_client().post("/hooks/chat", data=body).status_code

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert list(pool.map(post, bodies * 2, timeout=30)) == [204] * 48

    statuses = [Billing(app).message(f"msg_{number}")["status"] for number in range(8)]
    assert statuses == ["read"] * 8
