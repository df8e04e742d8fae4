"""What a later version may change in the fields of a posted body."""

import json
from decimal import Decimal
from urllib.parse import urlencode

import pytest

from pytest_chatfake import ChatFake, ChatFakeConfig, explore
from pytest_chatfake.exploring.posted_fields import Posted, ways_to_evolve

from ..unit.fakes import fake_with_receiver, received_bodies
from .test_exploration import notes


def infobip(event):
    message = event["chatMessage"]
    group = "OK" if message["status"] in {"delivered", "read"} else "PENDING"
    result = {
        "messageId": message["id"],
        "to": "41793026727",
        "channel": "SMS",
        "sentAt": "2026-01-01T12:00:00",
        "text": "Hello",
        "price": {"pricePerMessage": message["totalPrice"], "currency": "EUR"},
        "status": {"name": message["status"], "groupName": group, "id": 5},
        "error": {"permanent": False, "code": "0"},
    }
    return {"bulkId": "BULK", "results": [result]}


def sns(event):
    mail = {"messageId": event["id"], "bounce": {"bounceType": "Permanent"}}
    inner = {"eventType": event["chatMessage"]["status"].title(), "mail": mail}
    return {"Type": "Notification", "Message": json.dumps(inner)}


def sendgrid(event):
    return [{"sg_message_id": event["id"], "event": event["chatMessage"]["status"], "tls": 1}]


def twilio(event):
    status = event["chatMessage"]["status"]
    fields = {"MessageSid": "SM1", "MessageStatus": status, "SmsStatus": status, "Channel": "sms"}
    return urlencode(fields | {"Body": "Hello", "NumSegments": "1"})


def ways(outbound):
    """What can change in the bodies of a usual scenario: the fields, by kind."""
    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.send_text("first").deliver(devices=2).read()
        fake.send_text("second").fail()
        posted = [
            Posted(request.body, request.event.body, request.event.status)
            for request in receiver.requests
        ]
    return {
        kind: [dict(way)["unknown"] for way in found]
        for kind, found in ways_to_evolve(posted).items()
    }


@pytest.mark.parametrize(
    ("outbound", "values", "types", "events"),
    [
        (
            infobip,
            ["body.results[0].channel", "body.results[0].status.groupName"],
            ["body.results[0].price.pricePerMessage", "body.results[0].error.code"],
            [],
        ),
        (sns, ["body.Message.mail.bounce.bounceType"], [], []),
        (sendgrid, [], ["body[0].tls"], ["body[0].event"]),
        (twilio, ["body.Channel"], [], []),
        (lambda _: "<sent/>", [], [], []),
    ],
)
def test_words_and_numbers_of_a_body_can_change_but_no_ids_times_or_texts(
    outbound, values, types, events
):
    assert ways(outbound) == {
        "unknown_value": values,
        "unknown_type": types,
        "unknown_event": events,
    }


def posted(outbound, **change):
    with fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.webhooks.evolve(**change)
        fake.send_text()
        return received_bodies(receiver)[0]


def test_an_unknown_value_is_written_where_it_is_asked_for():
    body = json.loads(posted(infobip, unknown="body.results[0].status.groupName"))

    assert body["results"][0]["status"]["groupName"] == "ADDED_LATER"


def test_an_unknown_value_is_written_into_json_inside_json():
    body = json.loads(posted(sns, unknown="body.Message.mail.bounce.bounceType"))

    assert json.loads(body["Message"])["mail"]["bounce"]["bounceType"] == "added_later"


def test_an_unknown_value_is_written_into_a_form():
    assert b"Channel=added_later&Body=Hello" in posted(twilio, unknown="body.Channel")


@pytest.mark.parametrize(
    ("before", "after"), [(Decimal("0.10"), b'"0.10"'), (7, b'"7"'), ("0.10", b"0.10"), ("7", b"7")]
)
def test_a_number_becomes_text_digit_for_digit_and_back(before, after):
    body = posted(lambda _: {"n": before}, unknown="body.n", how="type")

    assert body == b'{"n":' + after + b"}"


def test_a_list_begins_with_another_event():
    body = json.loads(posted(sendgrid, unknown="body[0].event", how="event"))

    assert [event["event"] for event in body] == ["added_later", "sent"]


def test_a_body_without_the_field_stays_the_same():
    assert posted(lambda _: "a=1", unknown="body.nothing") == b"a=1"


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (
            {"how": "type"},
            (
                "how: expected 'value', unless unknown= is a field of the posted body, such as "
                "'body.status', got 'type'"
            ),
        ),
        (
            {"unknown": "body.a", "how": "kind"},
            "unknown how 'kind': use 'value', 'type' or 'event'",
        ),
    ],
)
def test_a_way_to_change_a_field_that_does_not_fit_is_refused(change, refusal):
    with ChatFake() as fake, pytest.raises(ValueError, match="how") as error:
        fake.webhooks.evolve(**change)

    assert str(error.value) == refusal


def explored(outbound, app, *, by=explore, **options):
    def world(fake):
        fake.webhooks.connect(handler=app)
        fake.send_text().deliver(devices=2)

    return by(world, config=ChatFakeConfig(outbound=outbound), **options)


def test_a_failure_names_the_field_and_can_be_tried_alone():
    def app(request):
        assert request.json()["results"][0]["status"]["groupName"] in {"OK", "PENDING"}

    assert (
        "chat_explore: passes as written; fails in world 3: every "
        "body.results[0].status.groupName had an unknown value\n"
    ) in explored(infobip, app, by=notes, deviations=["unknown_value"])
    with pytest.raises(AssertionError):
        only = ["webhooks.evolve(unknown='body.results[0].status.groupName')"]
        explored(infobip, app, only=only)


def test_a_number_that_comes_as_text_is_found():
    def app(request):
        assert isinstance(request.json()["results"][0]["price"]["pricePerMessage"], float | int)

    assert (
        "every body.results[0].price.pricePerMessage changed its type: from a number to text, or "
        "back"
    ) in explored(infobip, app, by=notes, deviations=["unknown_type"])


def test_a_whole_list_that_is_lost_for_one_event_is_found():
    known = {}

    def app(request):
        for event in request.json():
            if event["event"] == "added_later":
                return  # with the others of the list
            known[event["sg_message_id"]] = event["event"]

    def world(fake):
        known.clear()
        fake.webhooks.connect(handler=app)
        fake.send_text().deliver()
        fake.assert_order_independent(lambda: sorted(known.values()))

    with pytest.raises(AssertionError, match="every list began with another event"):
        explore(world, deviations=["unknown_event"], config=ChatFakeConfig(outbound=sendgrid))


@pytest.mark.parametrize("kind", ["unknown_type", "unknown_event"])
def test_without_such_fields_an_exploration_is_not_complete(kind):
    result = explored(twilio, lambda _: None, deviations=[kind])

    assert (result.worlds, result.complete) == (1, False)
    assert f"{kind} was not tried: outbound= writes no" in str(result)


def test_a_body_of_the_service_itself_has_no_such_worlds():
    def world(fake):
        fake.webhooks.connect(handler=lambda _: None)
        fake.send_text().deliver()

    result = explore(world, deviations=["evolve", "unknown_type", "unknown_event"])

    assert str(result) == "2 worlds, all with up to 2 deviations"
