"""The app does not call the API as the test expects."""

import json

import pytest
from werkzeug.test import Client

pytestmark = [
    pytest.mark.usefixtures("chat_clock"),
    pytest.mark.chat_fake(api_key="secret-key-1234", retry_after=[30]),
]


def ask(fake, path="/v2/balance", **headers):
    return Client(fake.wsgi_app).get(path, headers={"X-API-Key": fake.api_key, **headers})


def send(fake, to="+1", body="Hello", **headers):
    order = {"to": to, "type": "text", "text": {"body": body}}
    headers = {"X-API-Key": fake.api_key, **headers}
    return Client(fake.wsgi_app).post("/v2/messages", data=json.dumps(order), headers=headers)


# It asks for its balance


def not_at_all(fake):
    pass


def without_an_endpoint(fake):
    fake.send_text()


def at_another_path(fake):
    ask(fake, "/balance")


def after_a_response_that_was_lost(fake):
    fake.webhooks.receiver()
    fake.webhooks.lose()
    fake.send_text()


def after_an_event_that_it_refused(fake):
    fake.webhooks.connect(handler=lambda request: 500, retry_after=())
    fake.send_text()
    fake.webhooks.lose_response()
    fake.send_text()


def after_a_delivery_that_is_pending(fake):
    fake.webhooks.receiver()
    fake.autopilot(deliver_after=30, read_after=0)
    fake.send_text(to="+1")


def after_a_retry_that_is_pending(fake):
    fake.webhooks.receiver().respond(503)
    fake.send_text()


def after_a_retry_that_nobody_waits_for(fake):
    receiver = fake.webhooks.receiver()
    receiver.respond(503)
    fake.send_text()
    receiver.endpoint.disconnect()


ASKS = [
    not_at_all,
    without_an_endpoint,
    at_another_path,
    after_a_response_that_was_lost,
    after_an_event_that_it_refused,
    after_a_delivery_that_is_pending,
    after_a_retry_that_is_pending,
    after_a_retry_that_nobody_waits_for,
]


@pytest.mark.parametrize("asks", ASKS)
def test_the_app_asks_for_the_balance(chat_fake, asks):
    asks(chat_fake)
    chat_fake.assert_requested("GET", "/v2/balance")


@pytest.mark.parametrize("path", ["v2/balance", "/v2/balance?currency=USD"])
def test_the_app_asks_at_a_path(chat_fake, path):
    ask(chat_fake)
    chat_fake.assert_requested("GET", path)


def test_the_app_asks_once(chat_fake):
    with chat_fake.api.fail(503):
        ask(chat_fake)
    ask(chat_fake, "/v2/balance?currency=USD")
    ask(chat_fake, **{"X-API-Key": "another-key-9876"})
    Client(chat_fake.wsgi_app).get("/v2/balance")
    chat_fake.assert_requested("GET", "/v2/balance", times=1)


# It sends a message


def test_the_app_calls_an_existing_route(chat_fake):
    send(chat_fake)
    chat_fake.send_endpoint()
    ask(chat_fake, "/messages")
    assert chat_fake.messages


def test_the_app_says_who_gets_a_message(chat_fake, chat_receiver):
    chat_fake.send_endpoint()
    send(chat_fake, to=None)
    assert chat_receiver.events


def test_the_app_knows_a_message_when_its_webhook_arrives(chat_fake, chat_receiver):
    chat_fake.send_endpoint()
    send(chat_fake)
    chat_fake.settle()
    chat_fake.api.webhooks_first()
    send(chat_fake, to="+2")
    chat_fake.settle()
    pytest.fail("nobody knows this message")


def test_the_app_uses_a_key_once(chat_fake):
    def send_with(key, body, **_):
        return send(chat_fake, body=body, **{"Idempotency-Key": key})

    def reply(message):
        return send_with("3", "Hi").json if len(chat_fake.messages) == 3 else {"id": message.id}

    chat_fake.send_endpoint(reply=reply, idempotency_header="Idempotency-Key")
    for key, body in [("1", "Hi"), ("1", "Hi"), ("1", "Hello"), ("2", "Hello"), ("3", "Hi")]:
        send_with(key, body)
    chat_fake.settle()
    pytest.fail("five calls, three messages")


def test_a_route_that_raises(chat_fake):
    @chat_fake.route("/v2/messages")
    def sends(request):
        raise KeyError("to")

    send(chat_fake)
    send(chat_fake)
    pytest.fail("no message was sent")


def test_a_route_that_sends(chat_fake, chat_receiver):
    @chat_fake.route("/v2/messages")
    def sends(request):
        chat_fake.send_text(to="+2").deliver()
        assert chat_receiver.events

    send(chat_fake)


def test_api_faults_fire(chat_fake):
    api = chat_fake.api
    for fault in (api.fail(503, start=2), api.delay(1, path="/v2/other"), api.truncate(start=3)):
        assert not fault.fired
    ask(chat_fake)
    ask(chat_fake)
    assert api.disconnect().fired
