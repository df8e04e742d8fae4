"""The shapes against the providers' own libraries, those that are installed.

``pip install twilio pywa 'django-anymail[amazon-ses]' sendgrid vonage-jwt cryptography`` installs
all of them.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from providers import meta, postmark, sendgrid_mail, ses, twilio_sms, vonage

from pytest_chatfake import ChatFake, ChatFakeConfig, Receiver


def played(config: ChatFakeConfig) -> Receiver:
    """The webhooks of a message that is read, and of one that fails."""
    with ChatFake(config) as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text(to="4915550001").deliver().read()
        fake.send_text(to="4915550002").fail()
    return receiver


def test_twilio_s_validator_accepts_each_callback() -> None:
    validator = pytest.importorskip("twilio.request_validator").RequestValidator("auth-token")

    for request in played(twilio_sms.config()).requests:
        form = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
        signature = request.headers["X-Twilio-Signature"]
        assert validator.validate(twilio_sms.HOST + request.path, form, signature)


def test_twilio_s_client_sends_to_the_fake() -> None:
    rest = pytest.importorskip("twilio.rest")
    http = pytest.importorskip("twilio.http.http_client")

    class ToTheFake(http.TwilioHttpClient):  # type: ignore[misc]
        def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
            url = url.replace("https://api.twilio.com", fake.base_url)
            return super().request(method, url, *args, **kwargs)

    with ChatFake(twilio_sms.config()) as fake:
        twilio_sms.send_endpoint(fake)
        client = rest.Client(twilio_sms.ACCOUNT, fake.api_key, http_client=ToTheFake())
        sent = client.messages.create(to="+1", from_="+2", body="Hi")

        assert sent.sid == twilio_sms.sid_of(fake.messages[0].id)


def test_pywa_s_models_read_each_status() -> None:
    pywa = pytest.importorskip("pywa")
    types = pytest.importorskip("pywa.types")
    client = pywa.WhatsApp(phone_id=meta.PHONE, token="t")

    found = [
        types.MessageStatus.from_update(client, json.loads(request.body)).status.value
        for request in played(meta.config()).requests
    ]
    assert found == ["sent", "delivered", "read", "sent", "failed"]


def test_vonage_s_verifier_accepts_each_token() -> None:
    verify = pytest.importorskip("vonage_jwt").verify_signature
    secret = "the signature secret of the account"

    for request in played(vonage.config(secret)).requests:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        assert verify(token, secret)
        assert not verify(token, "x" * 40)


def test_sendgrid_s_verifier_accepts_each_signature() -> None:
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    events = pytest.importorskip("sendgrid.helpers.eventwebhook")
    key = ec.generate_private_key(ec.SECP256R1())
    config = sendgrid_mail.config(lambda data: key.sign(data, ec.ECDSA(hashes.SHA256())))

    name = "X-Twilio-Email-Event-Webhook"
    for request in played(config).requests:
        assert events.EventWebhook().verify_signature(
            request.body.decode(),
            request.headers[f"{name}-Signature"],
            request.headers[f"{name}-Timestamp"],
            key.public_key(),
        )


def test_the_signature_of_sns_is_valid() -> None:
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    padding = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.padding")
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    key, scheme = rsa.generate_private_key(65537, 2048), padding.PKCS1v15()
    config = ses.config(lambda data: key.sign(data, scheme, hashes.SHA256()))

    for request in played(config).requests:
        fields = request.json()
        signature = pytest.importorskip("base64").b64decode(fields["Signature"])
        key.public_key().verify(signature, ses.signed_text(fields), scheme, hashes.SHA256())


@pytest.fixture
def anymail(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("anymail")
    from django.conf import settings
    from django.test import RequestFactory

    if not settings.configured:
        settings.configure(SECRET_KEY="x", ALLOWED_HOSTS=["*"])
    monkeypatch.setattr(settings, "ANYMAIL", {"WEBHOOK_SECRET": "postmark:secret"}, raising=False)
    from anymail import signals

    found: list[tuple[str, str]] = []

    def note(sender: Any, event: Any, **_: Any) -> None:
        found.append((event.event_type, event.message_id))

    def post(view: Any, receiver: Receiver) -> list[tuple[str, str]]:
        signals.tracking.connect(note)
        for request in receiver.requests:
            django_request = RequestFactory().post(
                "/",
                data=request.body,
                content_type="application/json",
                headers={**request.headers, **postmark.headers()},
            )
            assert view(django_request).status_code == 200
        return found

    yield post
    signals.tracking.disconnect(note)


def test_anymail_s_view_reads_each_event_of_postmark(anymail: Any) -> None:
    from anymail.webhooks.postmark import PostmarkTrackingWebhookView as View

    found = anymail(View.as_view(), played(postmark.config()))
    assert [type_ for type_, _ in found] == ["delivered", "opened", "bounced"]


@pytest.mark.filterwarnings("ignore")  # anymail supports SendGrid no longer
def test_anymail_s_view_reads_each_event_of_sendgrid(anymail: Any) -> None:
    from anymail.webhooks.sendgrid import SendGridTrackingWebhookView as View

    config = sendgrid_mail.config(lambda _: b"")
    found = anymail(View.as_view(), played(config))
    assert [type_ for type_, _ in found] == [
        *("queued", "delivered", "opened", "queued", "bounced"),
    ]


def test_anymail_s_view_reads_each_event_of_ses(anymail: Any) -> None:
    pytest.importorskip("boto3")
    from anymail.webhooks.amazon_ses import AmazonSESTrackingWebhookView as View

    found = anymail(View.as_view(), played(ses.config(lambda _: b"")))
    assert [type_ for type_, _ in found] == ["sent", "delivered", "opened", "sent", "bounced"]
