"""The send call. Its contract is ours, so each test states what the endpoint answers."""

from typing import Any

import pytest
from billing_flask.testing import Billing, Campaign
from flask import Flask
from werkzeug import Request

from pytest_chatfake import ChatFake

ORDER = {"to": "+4915550001", "body": "Sale ends today"}


@pytest.fixture
def path(billing: Billing) -> str:
    """Where a campaign's messages are posted."""
    return f"/campaigns/{billing.new_campaign('Spring sale')}/messages"


def test_the_text_and_the_recipient_reach_the_service(
    chat_fake: ChatFake, app: Flask, path: str
) -> None:
    orders: list[Any] = []

    @chat_fake.route("/v2/messages")
    def send(request: Request) -> dict[str, str]:
        orders.append(request.get_json())
        return {"id": "msg_1"}

    assert app.test_client().post(path, json=ORDER).status_code == 202
    assert orders == [{"to": ORDER["to"], "type": "text", "text": {"body": ORDER["body"]}}]


def test_a_sent_message_comes_back_as_a_webhook(campaign: Campaign) -> None:
    message = campaign.send("Sale ends today")
    assert [event.json()["chatMessage"]["text"] for event in message.events] == [
        {"body": "Sale ends today"}
    ]
    assert campaign.spend()["messages"]["sent"] == 1


def test_a_message_is_accepted_until_its_first_event(
    chat_fake: ChatFake, billing: Billing, send_endpoint: None
) -> None:
    chat_fake.webhooks.disconnect()
    message_id = billing.send(billing.new_campaign("Spring sale"), "Hello", to=ORDER["to"])
    assert billing.message(message_id)["status"] == "accepted"


def test_a_key_that_is_not_accepted_sends_nothing(
    chat_fake: ChatFake, app: Flask, path: str, send_endpoint: None
) -> None:
    app.config["MESSAGING_API_KEY"] = "a key of last year"
    response = app.test_client().post(path, json=ORDER)
    assert response.status_code == 502
    assert response.get_json() == {"error": "not sent: 401 INVALID_API_KEY"}
    assert list(chat_fake.messages) == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 503, "message": "OUT_OF_ORDER"}, "503 OUT_OF_ORDER"),
        ({"status": 502, "body": "<html>Bad gateway"}, "502"),
        ({"status": 200, "body": "<html>"}, "the answer is not JSON"),
        ({"status": 200, "body": '{"status": "sent"}'}, "the answer has no message id"),
    ],
)
def test_an_answer_that_is_no_use_is_reported(
    chat_fake: ChatFake, app: Flask, path: str, answer: dict[str, Any], reason: str
) -> None:
    chat_fake.api.fail(**answer, path="/v2/messages")
    response = app.test_client().post(path, json=ORDER)
    assert response.status_code == 502
    assert response.get_json() == {"error": f"not sent: {reason}"}


def test_a_rate_limit_is_passed_on(chat_fake: ChatFake, app: Flask, path: str) -> None:
    chat_fake.api.rate_limit(30, path="/v2/messages")
    response = app.test_client().post(path, json=ORDER)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "30"


@pytest.mark.parametrize(
    "order", [{}, {"to": "+49"}, {"body": "Hello"}, {"to": 49, "body": "Hello"}]
)
def test_an_incomplete_message_is_not_sent(app: Flask, path: str, order: dict[str, Any]) -> None:
    assert app.test_client().post(path, json=order).status_code == 400
