"""Events that the service would not send (`emit`), and events that come again (`redeliver`)."""

import json
from decimal import Decimal

import pytest

from pytest_chatfake import ChatFake, Naming
from pytest_chatfake.wire.validation import deviations

from .fakes import (
    fake_with_receiver,
    received_bodies,
    received_statuses,
    warnings_at_the_end,
)

STATES = ["sent", "delivered", "read", "failed"]


def bring(fake, state):
    message = fake.send_text("Hello")
    match state:
        case "delivered":
            message.deliver()
        case "read":
            message.deliver().read()
        case "failed":
            message.fail()
        case "dropped":
            fake.clock.advance(days=30)
    return message


def money(fake):
    return fake.balance, list(fake.ledger)


# -- emit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forged", STATES)
@pytest.mark.parametrize("state", [*STATES, "dropped"])
def test_any_status_can_follow_any_other_and_status_and_money_stay(fake, receiver, state, forged):
    message = bring(fake, state)
    fake.clock.advance(seconds=5)
    before = message.status, message.dropped, message.total_price, money(fake)

    fake.webhooks.emit(message, forged)

    assert before == (message.status, message.dropped, message.total_price, money(fake))
    event = message.events[-1]
    assert forged == event.status == event.json()["chatMessage"]["status"]
    assert event.synthetic
    assert event == receiver.events[-1]
    assert event.create_time == fake.clock.now
    assert len({one.id for one in fake.events}) == len(fake.events)
    # A receiver meets an unexpected status, and no missing field.
    assert deviations(event.json(), fake.config.naming) == []


def test_what_did_not_happen_is_shown_as_of_now(fake):
    message = bring(fake, "failed")
    fake.clock.advance(seconds=5)
    fake.webhooks.emit(message, "read")

    resource = message.events[-1].json()["chatMessage"]
    assert "2026-01-01T12:00:05.000Z" == resource["deliverTime"] == resource["readTime"]
    assert resource["sendTime"] == "2026-01-01T12:00:00.000Z"
    assert resource["conversation"]["expireTime"] == "2026-01-02T12:00:00.000Z"


def test_what_did_happen_is_shown_as_it_was(fake):
    message = bring(fake, "read")
    honest = message.events[-1].json()["chatMessage"]
    fake.clock.advance(hours=30)
    fake.webhooks.emit(message, "read")

    assert honest == message.events[-1].json()["chatMessage"]


def test_a_failure_that_never_was_is_131026_and_one_that_was_is_itself(fake):
    delivered = bring(fake, "delivered")
    failed = fake.send_text().fail("999", "Own", platform_error=False)
    fake.webhooks.emit(delivered, "failed")
    fake.webhooks.emit(failed, "failed")

    first, second = (event.json()["chatMessage"] for event in fake.events[-2:])
    assert (first["errorCode"], first["errorMessage"]) == ("131026", "Message Undeliverable")
    assert (second["errorCode"], second["errorMessage"]) == ("999", "Own")


@pytest.mark.parametrize("state", ["sent", "delivered", "read"])
def test_an_unknown_status_has_exactly_the_fields_of_a_sent_event(fake, state):
    message = bring(fake, state)
    fake.webhooks.emit(message, "played")
    sent = message.events[0].json()["chatMessage"]
    played = message.events[-1].json()["chatMessage"]

    assert played["status"] == "played"
    assert sent.keys() == played.keys()
    assert sent["conversation"].keys() == played["conversation"].keys()


@pytest.mark.parametrize("status", ['quo"ted', "back\\slash", "line\nbreak", "\ud800", "é"])
def test_a_forged_status_may_be_any_text(fake, status):
    message = fake.send_text()
    fake.webhooks.emit(message, status)

    assert status == json.loads(fake.events[-1].body)["chatMessage"]["status"]
    assert status == fake.events[-1].status


def test_a_rejected_message_can_have_any_event_too(fake, receiver):
    message = fake.submit_text().reject()
    fake.webhooks.emit(message, "delivered")

    assert received_statuses(receiver) == ["failed", "delivered"]
    assert "conversation" not in receiver.events[-1].json()["chatMessage"]


def test_fields_of_the_message_and_the_envelope_are_changed_by_their_path(fake, receiver):
    message = bring(fake, "delivered")
    changes = {
        "totalPrice": Decimal("0.123456789012345678901234567890"),
        "conversation.expireTime": "soon",
        "conversation": {"id": "c0ffee", "list": [1, None, True, {"a": 1.5}]},
        "own": None,
        "event.id": "evt_own",
        "event.own": [],
        "event.chatMessage.currency": "EUR",
        "text.body": "é",
    }
    fake.webhooks.emit(message, "delivered", changes=changes)

    event = receiver.requests[-1].event.json()
    resource = event["chatMessage"]
    assert Decimal("0.123456789012345678901234567890") == resource["totalPrice"]
    assert {"id": "c0ffee", "list": [1, None, True, {"a": Decimal("1.5")}]} == resource[
        "conversation"
    ]
    assert (
        event["id"],
        event["own"],
        resource["currency"],
        resource["own"],
        resource["text"]["body"],
    ) == ("evt_own", [], "EUR", None, "é")
    assert b"0.123456789012345678901234567890" in receiver.requests[-1].body


def test_fields_are_left_out_by_their_path(fake, receiver):
    message = bring(fake, "delivered")
    honest = message.events[-1].json()
    fake.webhooks.emit(
        message,
        "delivered",
        remove=iter(["totalPrice", "conversation.type", "event.apiVersion"]),
    )

    event = receiver.events[-1].json()
    assert {"apiVersion"} == honest.keys() - event.keys()
    assert {"totalPrice"} == honest["chatMessage"].keys() - event["chatMessage"].keys()
    assert {"id", "originType", "expireTime"} == set(event["chatMessage"]["conversation"])


def test_paths_go_by_the_teams_own_names():
    with fake_with_receiver(naming=Naming(message_key="brandMessage")) as (fake, receiver):
        fake.webhooks.emit(fake.send_text(), "sent", changes={"status": "x"}, remove=["currency"])

        resource = receiver.events[-1].json()["brandMessage"]
        assert resource["status"] == "x"
        assert "currency" not in resource


@pytest.mark.parametrize("raw", ["{", b"\xff\xfe", "", "x" * 5_000_000, '{"chatMessage": null}'])
def test_a_whole_body_can_be_anything(fake, receiver, raw):
    fake.webhooks.emit(bring(fake, "sent"), "delivered", raw=raw)

    expected = raw if isinstance(raw, bytes) else raw.encode()
    assert expected == received_bodies(receiver)[-1]
    assert receiver.events[-1].status == "delivered"


def test_a_refused_forgery_is_no_news():
    def app(environ, start_response):
        forged = environ["wsgi.input"].read() == b"{"
        start_response("400 Bad" if forged else "200 OK", [])
        return []

    def scenario(fake):
        fake.webhooks.connect(wsgi=app)
        fake.webhooks.emit(fake.send_text(), "sent", raw="{")

    assert warnings_at_the_end(scenario) == []


# -- redeliver -------------------------------------------------------------------------------------


def test_a_past_event_comes_again_byte_for_byte_with_a_fresh_signature():
    with fake_with_receiver(signer=lambda request: {"X-Time": str(request.timestamp)}) as (
        fake,
        receiver,
    ):
        message = fake.send_text().deliver()
        fake.clock.advance(days=3)
        before = money(fake)

        fake.webhooks.redeliver(message.events[0])

        assert before == money(fake)
        assert received_statuses(receiver) == ["sent", "delivered", "sent"]
        first, _, again = receiver.requests
        assert (first.id, first.body) == (again.id, again.body)
        assert int(again.headers["X-Time"]) - int(first.headers["X-Time"]) == 3 * 86_400
        assert len(fake.events) == 2
        assert [one.number for one in fake.webhooks.attempts] == [1, 1, 1]


def test_an_event_from_before_an_endpoint_was_connected_can_come_to_it(fake):
    message = fake.send_text().deliver()
    receiver = fake.webhooks.receiver()
    for event in reversed(message.events):
        fake.webhooks.redeliver(event)

    assert receiver.statuses(message) == ["delivered", "sent"]


def test_only_an_event_of_this_fake_comes_again(fake, receiver):
    with ChatFake() as other:
        stranger = other.send_text().events[0]
        own = fake.send_text().events[0]

        with pytest.raises(ValueError, match="was not emitted by this fake"):
            fake.webhooks.redeliver(stranger)
        with pytest.raises(TypeError, match=r"one of fake\.events"):
            fake.webhooks.redeliver(own.id)
        assert received_statuses(receiver) == ["sent"]

        fake.reset()
        with pytest.raises(ValueError, match="was not emitted by this fake"):
            fake.webhooks.redeliver(own)


@pytest.mark.parametrize(
    "raw", ['{"chatMessage": "x"}', '{"chatMessage": [1]}', "[]", "{", "[" * 100_000, '"x"']
)
def test_a_message_is_found_whatever_its_newest_event_is(fake, raw):
    message = fake.send_text("Hello", extra={"ref": "order-1"})
    assert message == fake.find_message(ref="order-1")
    fake.webhooks.emit(message, "sent", raw=raw)

    assert message == fake.find_message(body="Hello")
    with pytest.raises(LookupError, match="no ref"):
        fake.find_message(ref="order-1")
