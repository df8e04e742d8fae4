"""Status events in another form: nested, or no JSON at all."""

import json
from decimal import Decimal
from itertools import count
from urllib.parse import urlencode

import pytest
from standardwebhooks.webhooks import Webhook

from pytest_chatfake import (
    ChatFakeError,
    HmacSigner,
    StandardWebhooksSigner,
)

from .fakes import fake_with_receiver, frozen_fake, in_another_thread, received_bodies, unchanged

SECRET = "whsec_c2VjcmV0"

fake_of = []


def nested(event):
    message = event["chatMessage"]
    status = {name: message[name] for name in ("id", "status", "totalPrice")}
    changes = [{"value": {"statuses": [status]}, "field": "messages"}]
    return {"entry": [{"id": event["id"], "changes": changes}]}


def nested_status(request):
    return request.json()["entry"][0]["changes"][0]["value"]["statuses"][0]


def form(event):
    message = event["chatMessage"]
    return urlencode({"MessageSid": message["id"], "MessageStatus": message["status"]})


def test_a_mapping_is_posted_as_json_and_signed_and_the_event_stays():
    signer = StandardWebhooksSigner(SECRET)
    with fake_with_receiver(outbound=nested, signer=signer) as (fake, receiver):
        fake.send_text(price="0.10").deliver()

        request, event = receiver.requests[-1], fake.events[-1]
        assert json.loads(request.body, parse_float=Decimal) == nested(event.json())
        assert b'"totalPrice":0.10' in request.body
        assert event.json()["chatMessage"]["status"] == "delivered"
        assert Webhook(SECRET).verify(request.body, dict(request.headers))


@pytest.mark.parametrize("as_what", [str, str.encode])
def test_a_text_or_bytes_are_posted_as_they_are(as_what):
    with fake_with_receiver(outbound=lambda event: as_what(form(event))) as (fake, receiver):
        message = fake.send_text()

        (body,) = received_bodies(receiver)
        assert body.decode() == form(message.events[0].json())


def test_all_attempts_post_the_same_bytes_whatever_the_function_does():
    asked = count(1)
    with fake_with_receiver(outbound=lambda _: f"{next(asked)}", retry_after=[60]) as (
        fake,
        receiver,
    ):
        receiver.respond(500)
        fake.webhooks.duplicate()
        fake.webhooks.duplicate(pause=60)
        fake.send_text()
        fake.clock.advance(120)
        fake.webhooks.redeliver(fake.events[0])
        assert received_bodies(receiver) == [b"1"] * 5
        fake.reset()
        fake.send_text()  # the first id comes again
        assert received_bodies(receiver) == [b"2"]


REFUSED = [
    (lambda _: None, TypeError),
    (lambda _: {"a": {1}}, TypeError),
    (lambda _: {"a": Decimal("NaN")}, ValueError),
    (lambda _: "\ud800", ValueError),
    (lambda event: event["gone"], KeyError),
    (lambda _: fake_of.pop().top_up(1), ChatFakeError),
]


@pytest.mark.parametrize(("function", "error"), REFUSED)
@pytest.mark.parametrize(
    "verb",
    [
        lambda fake, message: message.deliver(),
        lambda fake, message: fake.webhooks.emit(message, "delivered"),
    ],
    ids=["deliver", "emit"],
)
def test_what_can_not_be_posted_is_refused_with_its_event_without_changes(function, error, verb):
    def outbound(event):
        return {} if event["chatMessage"]["status"] == "sent" else function(event)

    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        message = fake.send_text()
        fake_of[:] = [fake]
        with unchanged(fake), pytest.raises(error) as caught:
            verb(fake, message)
        assert len(receiver.requests) == 1
        (note,) = caught.value.__notes__
        assert f"delivered m1 (message {message.id})" in note


def test_a_body_that_fails_for_what_a_person_does_unasked_is_not_posted():
    def outbound(event):
        return {"status": {"sent": 1, "delivered": 2}[event["chatMessage"]["status"]]}

    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        message = fake.send_text(to="+49151")
        fake.recipient("+49151").opens_chat()
        with pytest.raises(KeyError) as caught:
            message.deliver()
        assert (message.status, len(receiver.requests)) == ("read", 2)
        assert "got read m1 (caused at " in caught.value.__notes__[0]


def test_who_sends_while_the_function_runs_takes_no_event_s_id():
    def outbound(_):
        if fake_of:
            in_another_thread(fake_of.pop().send_text)
        return {}

    with fake_with_receiver(outbound=outbound) as (fake, _):
        fake_of[:] = [fake]
        fake.send_text()

        ids = [event.json()["id"] for event in fake.events]
        assert ids == [event.id for event in fake.events]
        assert len({*ids}) == 2


def test_what_a_test_makes_whole_or_has_recorded_keeps_its_form(tmp_path):
    path = tmp_path / "recorded.jsonl"
    path.write_text('{"entry": [ 1 ]}\n', "utf-8")
    with fake_with_receiver(outbound=nested) as (fake, _):
        receiver = fake.webhooks.receiver(events="*")
        message = fake.send_text()
        fake.webhooks.emit(message, "read", raw="{}")
        fake.webhooks.emit(message, "read", changes={"totalPrice": Decimal("9.90")})
        fake.webhooks.emit_event("chat.account.updated", body="a=1")
        fake.webhooks.replay(path)

        _, raw, changed, other, recorded = received_bodies(receiver)
        assert [raw, other, recorded] == [b"{}", b"a=1", b'{"entry": [ 1 ]}']
        assert b'"status":"read","totalPrice":9.90}' in changed
        assert fake.events[-1].type == "chat.message.updated"


def test_a_new_id_comes_in_the_form_and_tampering_changes_the_signed_body():
    signer = StandardWebhooksSigner(SECRET)
    with fake_with_receiver(outbound=nested, signer=signer) as (fake, receiver):
        fake.webhooks.duplicate(new_id=True)
        fake.webhooks.tamper(lambda body: body[:-1], start=2)
        fake.send_text().deliver()

        first, second, cut = receiver.requests
        assert [first.id, second.id] == [one.json()["entry"][0]["id"] for one in (first, second)]
        assert Webhook(SECRET).verify(second.body, dict(second.headers))
        with pytest.raises(json.JSONDecodeError):
            cut.json()
        assert json.loads(cut.body + b"}", parse_float=Decimal) == nested(cut.event.json())


def test_a_later_version_adds_fields_to_all_objects_of_json_and_to_no_form():
    with fake_with_receiver(outbound=nested) as (fake, receiver):
        fake.webhooks.evolve()
        fake.send_text()
        (body,) = received_bodies(receiver)
        status = nested_status(receiver.requests[0])
    assert body.count(b'"addedLater":{"since":"v3"}') == 5
    assert [*status] == ["addedLater", "totalPrice", "status", "id"]

    with fake_with_receiver(outbound=form) as (fake, receiver):
        fake.webhooks.evolve(start=2)
        fake.send_text().deliver()
        first, second = received_bodies(receiver)
    assert first.replace(b"=sent", b"=delivered") == second


def test_an_unknown_value_that_the_form_refuses_is_left_out_alone():
    def outbound(event):
        assert event["chatMessage"]["type"] == "text"
        origin = event["chatMessage"]["conversation"]["originType"]
        return {"id": event["id"], "origin": origin}

    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.webhooks.evolve(unknown="type")
        fake.webhooks.evolve(unknown="conversation.originType", start=2)
        fake.webhooks.duplicate(new_id=True, times=2)
        fake.send_text().deliver()

        bodies = [request.json() for request in receiver.requests]
        assert [body["id"] for body in bodies] == [request.id for request in receiver.requests]
        assert len({body["id"] for body in bodies}) == 4
        is_unknown = [body["origin"] == "added_later" for body in bodies]
        assert is_unknown == [False, False, True, True]


@pytest.mark.parametrize("outbound", [nested, form])
def test_bodies_with_and_without_an_id_are_forged_in_every_way(outbound):
    signer = HmacSigner("secret")
    with frozen_fake(outbound=outbound) as fake:

        def app(request):
            return 200 if signer(request).items() <= request.headers.items() else 401

        fake.webhooks.connect(handler=app, signer=signer)
        fake.send_text()
        fake.webhooks.assert_rejects_forgeries()

        forged = [mark.text for one in fake.webhooks.attempts for mark in one.marks]
        assert "forgery check, with its signature cut off" in forged
        assert "forgery check, with another event's signature" in forged
