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
    UnusedFault,
)

from .fakes import fake_with_receiver, frozen_fake, received_bodies, unchanged

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


def posts_only(*statuses):
    def outbound(event):
        return nested(event) if event["chatMessage"]["status"] in statuses else None

    return outbound


def test_a_status_without_a_body_is_an_event_that_nobody_gets():
    with fake_with_receiver(outbound=posts_only("delivered")) as (fake, receiver):
        message = fake.send_text().deliver().read()

        assert [event.status for event in message.events] == ["sent", "delivered", "read"]
        assert [nested_status(each)["status"] for each in receiver.requests] == ["delivered"]
        assert [attempt.event.status for attempt in fake.webhooks.attempts] == ["delivered"]


def test_a_status_without_a_body_is_not_redelivered_or_held_back():
    with fake_with_receiver(outbound=posts_only("delivered")) as (fake, receiver):
        with fake.webhooks.paused() as queue:
            message = fake.send_text().deliver()
            assert [event.status for event in queue] == ["delivered"]
        fake.webhooks.redeliver(message.events[0])

        assert len(receiver.requests) == 1


def test_a_status_without_a_body_needs_no_endpoint_at_the_end():
    with frozen_fake(outbound=posts_only(), strict=True) as fake:
        fake.webhooks.connect(handler=lambda _: 500)
        fake.send_text()

        assert len(fake.webhooks.attempts) == 0


def test_the_timeline_says_that_a_status_has_no_body():
    with fake_with_receiver(outbound=posts_only("delivered")) as (fake, _):
        fake.send_text().deliver()

        assert "event    sent m1 (not posted, as outbound= says)" in str(fake.timeline)


def test_a_reaction_without_a_body_is_not_posted():
    with fake_with_receiver(outbound=posts_only("sent", "delivered")) as (fake, receiver):
        message = fake.send_text(to="+49151")
        fake.recipient("+49151").opens_chat()
        message.deliver()

        assert message.status == "read"
        assert [nested_status(each)["status"] for each in receiver.requests] == [
            "sent",
            "delivered",
        ]


def test_a_fault_for_a_status_without_a_body_never_fires():
    outbound = posts_only("delivered")
    with pytest.raises(UnusedFault), fake_with_receiver(outbound=outbound) as (fake, _):
        fake.webhooks.lose(status="sent")
        fake.send_text().deliver()


def test_forgeries_are_made_of_the_last_event_that_has_a_body():
    signer = HmacSigner("secret")
    with frozen_fake(outbound=posts_only("sent")) as fake:
        fake.webhooks.connect(
            handler=lambda r: 200 if signer(r).items() <= r.headers.items() else 401, signer=signer
        )
        fake.send_text().deliver()
        fake.webhooks.assert_rejects_forgeries()

        assert {attempt.event.status for attempt in fake.webhooks.attempts} == {"sent"}


def test_none_for_a_redelivered_event_alone_is_refused():
    def outbound(event):
        return {} if event["id"] == fake.events[0].id else None

    with fake_with_receiver(outbound=lambda event: {} if not fake.events else outbound(event)) as (
        fake,
        _,
    ):
        fake.webhooks.duplicate(new_id=True)
        with pytest.raises(TypeError) as error:
            fake.send_text()

    assert str(error.value) == (
        "what the outbound= function returned: expected a body, as for the same event under its "
        "first id, got None"
    )


def test_a_list_is_posted_as_json_with_exact_decimals():
    def outbound(event):
        return [{"price": event["chatMessage"]["totalPrice"]}, 1.5]

    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.send_text(price="0.10").deliver()

        assert received_bodies(receiver)[-1] == b'[{"price":0.10},1.5]'


REFUSED = [
    (lambda _: 5, TypeError),
    (lambda _: [{1}], TypeError),
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


def test_a_later_version_adds_fields_to_all_objects_of_json():
    with fake_with_receiver(outbound=nested) as (fake, receiver):
        fake.webhooks.evolve()
        fake.send_text()
        (body,) = received_bodies(receiver)
        status = nested_status(receiver.requests[0])

    assert body.count(b'"addedLater":{"since":"v3"}') == 5
    assert [*status] == ["addedLater", "totalPrice", "status", "id"]


def test_a_later_version_adds_fields_to_json_inside_json():
    def outbound(event):
        return {"Type": "Notification", "Message": json.dumps({"mail": {"id": "1"}})}

    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.webhooks.evolve()
        fake.send_text()
        inner = json.loads(receiver.requests[0].json()["Message"])

    assert (inner.keys(), inner["mail"].keys()) == ({"addedLater", "mail"}, {"addedLater", "id"})


@pytest.mark.parametrize(
    ("body", "later"),
    [
        ("a=1&b=%3D&a=2&c=", "addedLater=v3&c=&b=%3D&a=1&a=2"),
        ("<status>sent</status>", "<status>sent</status>"),
        ("sent", "sent"),
        ("", ""),
    ],
)
def test_a_later_version_adds_a_field_to_a_form_and_none_to_a_text(body, later):
    with fake_with_receiver(outbound=lambda _: body) as (fake, receiver):
        fake.webhooks.evolve()
        fake.send_text()

    assert received_bodies(receiver) == [later.encode()]


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
