"""Events that the service would not send (`emit`), and events that come again (`redeliver`)."""

from decimal import Decimal

import pytest

from pytest_chatfake import Naming
from pytest_chatfake.wire.validation import mismatches

from .fakes import (
    fake_with_receiver,
    frozen_fake,
    received_bodies,
    received_statuses,
    trail,
    warnings_at_the_end,
)

#: How a message gets so far.
STEPS = {"sent": [], "delivered": ["deliver"], "read": ["deliver", "read"], "failed": ["fail"]}


def bring(fake, state):
    message = fake.send_text("Hello")
    if state == "dropped":
        fake.clock.advance(days=30)
    for step in STEPS.get(state, []):
        getattr(message, step)()
    return message


def facts(fake, message):
    """All that an event which is made up must leave as it was."""
    return (message.status, message.dropped, message.total_price, fake.balance, [*fake.ledger])


def resource(message):
    """The message, as its last event shows it."""
    return message.events[-1].json()["chatMessage"]


# -- emit ------------------------------------------------------------------------------------------


def test_an_object_in_changes_stays_as_it_is():
    given = {"id": "c1", "type": "REGULAR"}
    with frozen_fake(outbound=dict) as fake:
        message = fake.send_text()
        fake.webhooks.emit(
            message, "sent", changes={"conversation": given}, remove=["conversation.id"]
        )
        shown = fake.events[-1].json()["chatMessage"]["conversation"]

    assert (shown, given) == ({"type": "REGULAR"}, {"id": "c1", "type": "REGULAR"})


@pytest.mark.parametrize("forged", STEPS)
@pytest.mark.parametrize("state", [*STEPS, "dropped"])
def test_any_status_can_follow_any_other_and_status_and_money_stay(fake, receiver, state, forged):
    message = bring(fake, state)
    fake.clock.advance(seconds=5)
    before = facts(fake, message)
    fake.webhooks.emit(message, forged)

    event = message.events[-1]
    assert facts(fake, message) == before
    assert (event.status, resource(message)["status"], event.synthetic) == (forged, forged, True)
    assert (receiver.events[-1], event.create_time) == (event, fake.clock.now)
    assert len({one.id for one in fake.events}) == len(fake.events)
    # A receiver meets an unexpected status, and no missing field.
    assert mismatches(event.json(), fake.config.naming) == []


def test_what_did_not_happen_is_shown_as_of_now(fake):
    message = bring(fake, "failed")
    fake.clock.advance(seconds=5)
    fake.webhooks.emit(message, "read")

    shown = resource(message)
    assert shown["deliverTime"] == shown["readTime"] == "2026-01-01T12:00:05.000Z"
    assert shown["sendTime"] == "2026-01-01T12:00:00.000Z"
    assert shown["conversation"]["expireTime"] == "2026-01-02T12:00:00.000Z"


def test_what_did_happen_is_shown_as_it_was(fake):
    message = bring(fake, "read")
    honest = resource(message)
    fake.clock.advance(hours=30)
    fake.webhooks.emit(message, "read")

    assert resource(message) == honest


def test_a_failure_that_never_was_is_131026_and_one_that_was_is_itself(fake):
    delivered = bring(fake, "delivered")
    failed = fake.send_text().fail("999", "Own", platform_error=False)
    shown = []
    for message in (delivered, failed):
        fake.webhooks.emit(message, "failed")
        shown.append([resource(message)[name] for name in ("errorCode", "errorMessage")])

    assert shown == [["131026", "Message Undeliverable"], ["999", "Own"]]


@pytest.mark.parametrize("state", ["sent", "delivered", "read"])
def test_an_unknown_status_has_exactly_the_fields_of_a_sent_event(fake, state):
    message = bring(fake, state)
    fake.webhooks.emit(message, "played")
    sent, played = message.events[0].json()["chatMessage"], resource(message)

    assert played["status"] == "played"
    assert played.keys() == sent.keys()
    assert played["conversation"].keys() == sent["conversation"].keys()


@pytest.mark.parametrize("status", ['quo"ted', "back\\slash", "line\nbreak", "\ud800", "é"])
def test_a_forged_status_may_be_any_text(fake, status):
    message = fake.send_text()
    fake.webhooks.emit(message, status)

    assert (message.events[-1].status, resource(message)["status"]) == (status, status)


def test_a_rejected_message_can_have_any_event_too(fake, receiver):
    message = fake.submit_text().reject()
    fake.webhooks.emit(message, "delivered")

    assert received_statuses(receiver) == ["failed", "delivered"]
    assert "conversation" not in resource(message)


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

    event, shown = message.events[-1].json(), resource(message)
    assert shown["conversation"] == {"id": "c0ffee", "list": [1, None, True, {"a": Decimal("1.5")}]}
    assert (shown["currency"], shown["own"], shown["text"]["body"]) == ("EUR", None, "é")
    assert (event["id"], event["own"]) == ("evt_own", [])
    assert b'"totalPrice":0.123456789012345678901234567890,' in received_bodies(receiver)[-1]


def test_fields_are_left_out_by_their_path(fake):
    message = bring(fake, "delivered")
    honest = message.events[-1].json()
    removed = ["totalPrice", "conversation.type", "event.apiVersion"]
    fake.webhooks.emit(message, "delivered", remove=iter(removed))

    event, shown = message.events[-1].json(), resource(message)
    assert honest.keys() - event.keys() == {"apiVersion"}
    assert honest["chatMessage"].keys() - shown.keys() == {"totalPrice"}
    assert shown["conversation"].keys() == {"id", "originType", "expireTime"}


def test_paths_go_by_the_teams_own_names():
    with fake_with_receiver(naming=Naming(message_key="brandMessage")) as (fake, receiver):
        fake.webhooks.emit(fake.send_text(), "sent", changes={"status": "x"}, remove=["currency"])

        shown = receiver.events[-1].json()["brandMessage"]
        assert shown["status"] == "x"
        assert "currency" not in shown


@pytest.mark.parametrize("raw", ["{", b"\xff\xfe", "", "x" * 5_000_000, '{"chatMessage": null}'])
def test_a_whole_body_can_be_anything(fake, receiver, raw):
    fake.webhooks.emit(bring(fake, "sent"), "delivered", raw=raw)

    expected = raw if isinstance(raw, bytes) else raw.encode()
    assert received_bodies(receiver)[-1] == expected
    assert receiver.events[-1].status == "delivered"


def test_a_refused_forgery_is_no_news():
    def scenario(fake):
        fake.webhooks.connect(handler=lambda request: 400 if request.body == b"{" else 200)
        fake.webhooks.emit(fake.send_text(), "sent", raw="{")

    assert warnings_at_the_end(scenario) == []


# -- redeliver -------------------------------------------------------------------------------------


def test_a_past_event_comes_again_byte_for_byte_with_a_fresh_signature():
    def signer(request):
        return {"X-Time": str(request.timestamp)}

    with fake_with_receiver(signer=signer) as (fake, receiver):
        message = fake.send_text().deliver()
        fake.clock.advance(days=3)
        before = facts(fake, message)
        fake.webhooks.redeliver(message.events[0])

        assert facts(fake, message) == before
        assert trail(fake) == "sent, delivered, sent +259200"
        first, _, again = receiver.requests
        assert (again.id, again.body) == (first.id, first.body)
        assert int(again.headers["X-Time"]) - int(first.headers["X-Time"]) == 259_200
        assert len(fake.events) == 2


def test_an_event_from_before_an_endpoint_was_connected_can_come_to_it(fake):
    message = fake.send_text().deliver()
    receiver = fake.webhooks.receiver()
    for event in reversed(message.events):
        fake.webhooks.redeliver(event)

    assert receiver.statuses(message) == ["delivered", "sent"]


@pytest.mark.parametrize(
    "raw", ['{"chatMessage": "x"}', '{"chatMessage": [1]}', "[]", "{", "[" * 100_000, '"x"']
)
def test_a_message_is_found_whatever_its_newest_event_is(fake, raw):
    message = fake.send_text("Hello", extra={"ref": "order-1"})
    assert fake.find_message(ref="order-1") == message
    fake.webhooks.emit(message, "sent", raw=raw)

    assert fake.find_message(body="Hello") == message
    with pytest.raises(LookupError, match="no ref"):
        fake.find_message(ref="order-1")
