"""Each provider's shape, as a client and an app meet it."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode
from urllib.request import Request, urlopen

import pytest
from providers import meta, postmark, sendgrid_mail, ses, twilio_sms, vonage

from pytest_chatfake import ChatFake, ChatFakeConfig, Receiver, WebhookTests


def unsigned(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()  # where the tests need no real signature


def call(fake: ChatFake, path: str, body: Any, **headers: str) -> Any:
    """Make a send call as the provider's client does, and return the response's JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = headers or {**fake.headers, "Content-Type": "application/json"}
    with urlopen(Request(f"{fake.base_url}{path}", data, headers), timeout=5) as response:
        text = response.read()
        return json.loads(text) if text else dict(response.headers)


def basic(fake: ChatFake, user: str) -> str:
    return "Basic " + b64encode(f"{user}:{fake.api_key}".encode()).decode()


def posted(receiver: Receiver) -> list[Any]:
    return [json.loads(request.body, parse_float=Decimal) for request in receiver.requests]


def test_meta_posts_nested_statuses() -> None:
    with ChatFake(meta.config()) as fake:
        receiver = fake.webhooks.receiver(events="*")
        meta.send_endpoint(fake)
        order = {"messaging_product": "whatsapp", "to": "4915550001", "text": {"body": "Hi"}}
        response = call(fake, f"/v23.0/{meta.PHONE}/messages", order)
        fake.messages[0].deliver().read()
        fake.recipient("4915550001").writes("STOP")

    values = [body["entry"][0]["changes"][0]["value"] for body in posted(receiver)]
    ids = [status["id"] for value in values for status in value.get("statuses", ())]
    assert ids == [response["messages"][0]["id"]] * 3
    assert values[-1]["messages"][0]["text"] == {"body": "STOP"}


def test_meta_signs_the_body() -> None:
    with ChatFake(meta.config("app secret")) as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text()
    request = receiver.requests[0]

    right = hmac.new(b"app secret", request.body, hashlib.sha256).hexdigest()
    assert request.headers["X-Hub-Signature-256"] == f"sha256={right}"


def test_360dialog_takes_its_own_header() -> None:
    with ChatFake(meta.config_360dialog()) as fake:
        meta.send_endpoint(fake, "/messages")
        order = {"messaging_product": "whatsapp", "to": "4915550001", "text": {"body": "Hi"}}
        call(fake, "/messages", order)

        assert list(fake.headers) == ["D360-API-KEY"]
        assert fake.messages[0].to == "4915550001"


def test_twilio_posts_a_form_to_the_url_of_each_message() -> None:
    calls: list[tuple[str, dict[str, list[str]]]] = []

    def app(environ: Any, start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read().decode()
        calls.append((environ["PATH_INFO"], parse_qs(body)))
        start_response("204 No Content", [])
        return []

    with ChatFake(twilio_sms.config()) as fake:
        twilio_sms.send_endpoint(fake)
        fake.webhooks.connect(wsgi=app, path=twilio_sms.callback, headers=twilio_sms.HEADERS)
        order = {"To": "+1", "Body": "Hi", "StatusCallback": "https://testserver/sms/17"}
        path = f"/2010-04-01/Accounts/{twilio_sms.ACCOUNT}/Messages.json"
        headers = {**twilio_sms.HEADERS, "Authorization": basic(fake, twilio_sms.ACCOUNT)}
        response = call(fake, path, urlencode(order).encode(), **headers)
        fake.messages[0].deliver()

    assert [path for path, _ in calls] == ["/sms/17", "/sms/17"]
    assert [form["MessageStatus"] for _, form in calls] == [["sent"], ["delivered"]]
    assert {form["MessageSid"][0] for _, form in calls} == {response["sid"]}


def test_vonage_signs_a_digest_of_the_body() -> None:
    with ChatFake(vonage.config("secret")) as fake:
        receiver = fake.webhooks.receiver()
        vonage.send_endpoint(fake)
        order = {"message_type": "text", "text": "Hi", "to": "4915550001", "channel": "sms"}
        headers = {"Authorization": basic(fake, "a1b2"), "Content-Type": "application/json"}
        response = call(fake, "/v1/messages", order, **headers)
        fake.messages[0].deliver()

    request = receiver.requests[-1]
    _, claims, _ = request.headers["Authorization"].removeprefix("Bearer ").split(".")
    claims = json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert claims["payload_hash"] == hashlib.sha256(request.body).hexdigest()
    assert posted(receiver)[-1]["message_uuid"] == response["message_uuid"]


def test_postmark_posts_nothing_for_a_mail_that_was_sent() -> None:
    with ChatFake(postmark.config()) as fake:
        receiver = fake.webhooks.receiver()
        postmark.send_endpoint(fake)
        call(fake, "/email", {"From": "a@b.test", "To": "c@d.test", "TextBody": "Hi"})
        fake.messages[0].deliver().read()
        fake.send_text(to="e@f.test").fail()

    types = [body["RecordType"] for body in posted(receiver)]
    assert types == ["Delivery", "Open", "Bounce"]


def test_ses_comes_as_json_inside_json() -> None:
    with ChatFake(ses.config(unsigned)) as fake:
        receiver = fake.webhooks.receiver()
        ses.send_endpoint(fake)
        order = {
            "Destination": {"ToAddresses": ["c@d.test"]},
            "Content": {"Simple": {"Body": {"Text": {"Data": "Hi"}}}},
        }
        key = f"AWS4-HMAC-SHA256 Credential={fake.api_key}/20260101/eu-west-1/ses/aws4_request"
        headers = {"Authorization": key, "Content-Type": "application/json"}
        response = call(fake, "/v2/email/outbound-emails", order, **headers)
        fake.messages[0].deliver()

    bodies = [json.loads(body["Message"]) for body in posted(receiver)]
    assert [body["eventType"] for body in bodies] == ["Send", "Delivery"]
    assert bodies[0]["mail"]["messageId"] == response["MessageId"]
    assert "Signature" in posted(receiver)[0]


#: Makes the configuration of each module that is copied.
CONFIGS: dict[str, Callable[[], ChatFakeConfig]] = {
    "meta": meta.config,
    "postmark": postmark.config,
    "sendgrid_mail": lambda: sendgrid_mail.config(unsigned),
    "ses": lambda: ses.config(unsigned),
    "twilio_sms": twilio_sms.config,
    "vonage": vonage.config,
}


@pytest.mark.parametrize("module", CONFIGS)
def test_a_message_without_money_is_posted_as_failed(module: str) -> None:
    config = CONFIGS[module]().replace(opening_balance=0, on_insufficient_balance="fail")
    with ChatFake(config) as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text()

    assert len(receiver.requests) == 1


def test_meta_s_error_codes_are_numbers() -> None:
    with ChatFake(meta.config().replace(on_insufficient_balance="fail")) as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text(to="1").fail(code="131026")
        fake.send_text(to="2").fail(code="NEW_CODE", message="Something new")
        fake.set_balance(0)
        fake.send_text(to="3")

    statuses = [body["entry"][0]["changes"][0]["value"]["statuses"][0] for body in posted(receiver)]
    codes = [status["errors"][0]["code"] for status in statuses if "errors" in status]
    assert codes == [131026, 131000, 131042]


@pytest.mark.parametrize("module", CONFIGS)
def test_an_event_of_your_own_is_posted(module: str) -> None:
    with ChatFake(CONFIGS[module]()) as fake:
        receiver = fake.webhooks.receiver(events="*")
        fake.webhooks.emit_event("cron.tick")
        fake.recipient("+1").writes("Hi")

    assert len(receiver.requests) == 2


@pytest.mark.parametrize("module", CONFIGS)
def test_an_unknown_status_or_id_stops_no_module(module: str) -> None:
    with ChatFake(CONFIGS[module]()) as fake:
        fake.webhooks.receiver()
        message = fake.send_text()
        fake.webhooks.emit(message, "deleted")
        fake.webhooks.emit(message, "failed", changes={"id": "order-17"})

    assert [event.status for event in fake.events] == ["sent", "deleted", "failed"]


@pytest.mark.parametrize("module", CONFIGS)
def test_each_module_can_be_copied_alone(module: str) -> None:
    source = (Path(meta.__file__).parent / f"{module}.py").read_text("utf-8")
    assert "from ." not in source


def test_sendgrid_posts_lists() -> None:
    with ChatFake(sendgrid_mail.config(unsigned)) as fake:
        receiver = fake.webhooks.receiver()
        sendgrid_mail.send_endpoint(fake)
        order = {
            "personalizations": [{"to": [{"email": "c@d.test"}]}],
            "content": [{"type": "text/plain", "value": "Hi"}],
        }
        response = call(fake, "/v3/mail/send", order)
        fake.messages[0].deliver()

    events = [event for body in posted(receiver) for event in body]
    assert [event["event"] for event in events] == ["processed", "delivered"]
    assert events[0]["sg_message_id"].startswith(response["X-Message-Id"])


class TestAnAppOfTwilio(WebhookTests):
    """A right app, whose callbacks have the row's key in their URL."""

    @pytest.fixture
    def chat_fake_config(self) -> Any:
        return twilio_sms.config()

    def connect(self, chat_fake: ChatFake) -> Any:
        order = ["sent", "delivered", "read", "undelivered"]
        rows: dict[str, str] = {}

        def app(environ: Any, start_response: Any) -> list[bytes]:
            form = parse_qs(environ["wsgi.input"].read().decode())
            status, key = form["MessageStatus"][0], environ["PATH_INFO"]
            host = twilio_sms.HOST
            signed = host + key + "".join(f"{name}{form[name][0]}" for name in sorted(form))
            mac = hmac.digest(b"auth-token", signed.encode(), "sha1")
            given = environ.get("HTTP_X_TWILIO_SIGNATURE", "")
            if not hmac.compare_digest(given, b64encode(mac).decode()):
                start_response("403 Forbidden", [])
                return []
            if key not in rows or order.index(status) > order.index(rows[key]):
                rows[key] = status
            start_response("204 No Content", [])
            return []

        chat_fake.webhooks.connect(
            wsgi=app,
            path=lambda event: f"/sms/{event.message_id}",
            headers=twilio_sms.HEADERS,
        )
        return lambda: dict(rows)
