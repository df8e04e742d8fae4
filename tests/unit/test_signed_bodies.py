"""Signers that sign inside the body, as SNS and Paddle classic do."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import parse_qsl, urlencode

import pytest

from pytest_chatfake import UndeliveredWebhooks, WebhookRequest

from .fakes import START, fake_with_receiver, frozen_fake, received_bodies, send_to
from .test_forgeries import got_through, verdict


def mac(text):
    return hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest()


def of_fields(fields):
    return mac("".join(f"{name}={fields[name]};" for name in sorted(fields)))


def sns(event):
    return {"Type": "Notification", "Message": json.dumps(event["chatMessage"]["status"])}


def signed_as_by_sns(request):
    return {}, json.dumps({**request.json(), "Signature": of_fields(request.json())})


def form(event):
    return urlencode({"id": event["chatMessage"]["id"], "status": event["chatMessage"]["status"]})


def fields_of_form(request):
    return dict(parse_qsl(request.body.decode()))


def signed_form(request):
    fields = fields_of_form(request)
    return {"X-Version": "1"}, urlencode({**fields, "Signature": of_fields(fields)})


def verifying(fields_of):
    def verify(request):
        fields = fields_of(request)
        given = fields.pop("Signature", "")
        return 200 if hmac.compare_digest(given, of_fields(fields)) else 403

    return verify


@pytest.fixture(
    params=[
        (sns, signed_as_by_sns, verifying(WebhookRequest.json)),
        (form, signed_form, verifying(fields_of_form)),
    ],
    ids=["JSON", "form"],
)
def scheme(request):
    return request.param


def forged(outbound, signer, app):
    """What got through, as the check says it."""
    with frozen_fake(outbound=outbound) as fake:
        send_to(fake, app, signer=signer)
        return got_through(verdict(fake))


def test_the_body_of_the_signer_is_posted_byte_for_byte():
    def signer(request):
        return {"X-Version": "1"}, f' {{"status":"{request.event.status}", "sign" : "abc" }}'

    with fake_with_receiver(outbound=sns, signer=signer) as (fake, receiver):
        fake.send_text()

        assert received_bodies(receiver) == [b' {"status":"sent", "sign" : "abc" }']
        assert receiver.requests[0].headers["X-Version"] == "1"


def test_a_mapping_is_posted_as_json_with_exact_decimals():
    def outbound(event):
        return {"price": event["chatMessage"]["totalPrice"]}

    def signer(request):
        return {}, [json.loads(request.body), "abc"]

    with fake_with_receiver(outbound=outbound, signer=signer) as (fake, receiver):
        fake.send_text(price="0.10").deliver()

        assert receiver.requests[-1].json() == [{"price": 0.1}, "abc"]


def test_an_app_that_verifies_refuses_all_forgeries(scheme):
    outbound, signer, verify = scheme

    assert forged(outbound, signer, verify) == []


def test_an_app_that_verifies_nothing_accepts_forgeries(scheme):
    outbound, signer, _ = scheme

    assert "unsigned" in forged(outbound, signer, lambda _: 200)


def test_an_app_that_verifies_part_of_the_body_accepts_a_changed_one():
    def verify(request):
        fields = request.json()
        signature = fields.pop("Signature", "")
        genuine = {**fields, "Message": json.dumps(request.event.status)}
        return 200 if hmac.compare_digest(signature, of_fields(genuine)) else 403

    assert "changed after it was signed" in forged(sns, signed_as_by_sns, verify)


def test_a_number_stays_a_number_in_forgeries():
    def signer(request):
        return {}, {**request.json(), "at": request.timestamp, "sign": mac(str(request.timestamp))}

    seen = set()

    def app(request):
        fields = request.json()
        seen.add(type(fields.get("at", 0)))
        return 200 if fields.get("sign") == mac(str(fields.get("at"))) else 401

    found = forged(sns, signer, app)

    assert (seen, "signed a day ago" in found) == ({int, str}, True)


def test_a_retry_is_signed_again():
    def signer(request):
        return {}, {"at": request.timestamp}

    with fake_with_receiver(signer=signer, retry_after=[60]) as (fake, receiver):
        receiver.respond(503)
        fake.send_text()
        fake.clock.advance(60)

        assert [request.json()["at"] - START for request in receiver.requests] == [0, 60]


def test_tampering_changes_the_signed_body():
    with fake_with_receiver(outbound=sns, signer=signed_as_by_sns) as (fake, receiver):
        fake.webhooks.tamper(lambda body: body[:-1])
        fake.send_text()

        assert b'"Signature"' in received_bodies(receiver)[0]
        assert not received_bodies(receiver)[0].endswith(b"}")


def test_another_signer_may_leave_the_signature_out():
    with fake_with_receiver(outbound=sns, signer=signed_as_by_sns) as (fake, receiver):
        fake.webhooks.sign(lambda request: {})
        fake.send_text()

        assert receiver.requests[0].json() == sns(fake.events[0].json())


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (({}, b"<xml/>"), "expected JSON or a form with a signature in it"),
        (({}, 5), "expected a mapping, a list, a str or bytes, got 5"),
        (({"A": 1}, {"a": "b"}), "expected a mapping of header names to strings, got {'A': 1}"),
        (({}, {}, {}), "expected a mapping of header names to strings, got ({}, {}, {})"),
    ],
)
def test_what_a_signer_can_not_return_is_refused(returned, text, fake):
    fake.webhooks.connect(handler=lambda _: None, signer=lambda _: returned)
    with pytest.raises(TypeError) as error:
        fake.send_text()

    assert str(error.value).endswith(text)


def test_the_snapshot_of_a_request_has_the_signed_body(scheme):
    outbound, signer, verify = scheme
    seen = []

    def app(request):
        assert isinstance(request, WebhookRequest)
        seen.append(verify(request))
        return seen[-1]

    with frozen_fake(outbound=outbound) as fake:
        fake.webhooks.connect(handler=app, signer=signer)
        fake.webhooks.duplicate()
        fake.send_text().deliver()

    assert seen == [200, 200, 200]


def test_a_signature_inside_the_body_is_said_to_be_there(fake):
    def sign(request):
        return {}, request.body[:-1] + b',"signature":"1"}'

    fake.webhooks.connect(handler=lambda _: 401, signer=sign)
    fake.send_text()
    with pytest.raises(UndeliveredWebhooks, match="signed in its body by the signer= function"):
        fake.close()
