"""Events of other types: who gets them, what they look like, and what goes wrong with them."""

import pytest

from pytest_chatfake import HmacSigner

from .fakes import frozen_fake, warnings_at_the_end

TYPE = "chat.inbound_message.received"


def types(receiver):
    return [event.type for event in receiver.events]


# -- who gets them ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "got"),
    [
        ("*", ["chat.message.updated", TYPE]),
        ([TYPE], [TYPE]),
        (["chat.message.updated", TYPE], ["chat.message.updated", TYPE]),
        (None, ["chat.message.updated"]),
    ],
)
def test_an_endpoint_gets_the_types_that_it_listens_for(fake, events, got):
    everything = fake.webhooks.receiver(events="*")
    receiver = fake.webhooks.receiver(events=events)
    fake.send_text()
    fake.webhooks.emit_event(TYPE, {"text": "Hello"})

    assert got == types(receiver)
    assert types(everything) == ["chat.message.updated", TYPE]


def test_an_event_that_no_connected_endpoint_listens_for_is_named():
    def scenario(fake):
        fake.webhooks.receiver()
        fake.webhooks.receiver(events="*").endpoint.disconnect()
        fake.webhooks.emit_event(TYPE)
        fake.webhooks.emit(fake.send_text(), "sent", changes={"event.type": "edited"})

    (text,) = warnings_at_the_end(scenario)
    head, *lines = text.splitlines()
    assert head == '2 events that no endpoint listens for; connect the app with events="*":'
    line = scenario.__code__.co_firstlineno + 3
    caused = [(TYPE, line), ("edited", line + 1)]
    assert lines == [f"  {type} (caused at test_other_events.py:{line})" for type, line in caused]


# -- what they look like ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "id_", "body"),
    [
        ({"key": "echo", "id": "e-1"}, "e-1", None),
        ({"body": {"id": "b-1", "x": 1}}, "b-1", b'{"id":"b-1","x":1}'),
        ({"body": {"id": "b-1"}, "id": "e-1"}, "e-1", b'{"id":"b-1"}'),
        ({"body": "not JSON"}, None, b"not JSON"),
        ({"body": b"\xff"}, None, b"\xff"),
    ],
)
def test_another_event_s_id_is_given_or_the_body_s_or_the_next_one(fake, arguments, id_, body):
    receiver = fake.webhooks.receiver(events="*")
    fake.webhooks.emit_event(TYPE, **arguments)

    event = fake.events[0]
    assert (id_ or event.id) == event.id == receiver.requests[0].id
    assert event.id.startswith("evt_") == (id_ is None)
    if body is not None:
        assert body == event.body == receiver.requests[0].body


# -- everything else about events goes for it too --------------------------------------------------


def test_an_event_of_another_type_is_signed_retried_and_redelivered():
    with frozen_fake(retry_after=[10], signer=HmacSigner("secret")) as fake:
        receiver = fake.webhooks.receiver(events="*")
        receiver.respond(500)
        fake.webhooks.emit_event(TYPE)
        fake.clock.advance(10)
        fake.webhooks.redeliver(fake.events[0])

        got = [(one.number, "X-Signature" in one.headers) for one in receiver.requests]
        assert got == [(1, True), (2, True), (1, True)]


@pytest.mark.parametrize(
    ("kind", "needed", "times"),
    [("duplicate", [], 2), ("lose", [], 0), ("delay", [30], 0), ("tamper", [], 1)],
)
def test_a_fault_for_its_type_concerns_it_alone(fake, kind, needed, times):
    receiver = fake.webhooks.receiver(events="*")
    fault = getattr(fake.webhooks, kind)(*needed, type=TYPE, times=None)
    fake.send_text()
    fake.webhooks.emit_event(TYPE)

    assert ["chat.message.updated", *[TYPE] * times] == types(receiver)
    assert fault.fired == 1
    assert f"type={TYPE!r}" in fault.description
    fake.clock.advance(30)
    assert max(times, kind == "delay") == types(receiver).count(TYPE)


def limited(limit, message):
    return {limit: {"status": "delivered", "message": message}[limit]}


@pytest.mark.parametrize("limit", ["status", "message"])
def test_a_fault_for_a_status_or_a_message_spares_other_types(fake, limit):
    receiver = fake.webhooks.receiver(events="*")
    message = fake.send_text()
    fake.webhooks.lose(**limited(limit, message))
    fake.webhooks.emit_event(TYPE)
    message.deliver()

    assert types(receiver) == ["chat.message.updated", TYPE]


def test_an_emitted_event_of_a_changed_type_goes_to_its_listeners(fake):
    usual = fake.webhooks.receiver()
    others = fake.webhooks.receiver(events=["chat.message.changed"])
    message = fake.send_text()
    fake.webhooks.emit(message, "read", changes={"event.type": "chat.message.changed"})

    assert types(usual) == ["chat.message.updated"]
    assert types(others) == ["chat.message.changed"]
    assert fake.events[-1].json()["type"] == "chat.message.changed"


def test_a_failed_attempt_of_another_event_is_named_by_its_type(fake):
    fake.webhooks.connect(handler=lambda _: 1 / 0, events="*")
    with pytest.raises(ZeroDivisionError) as caught:
        fake.webhooks.emit_event(TYPE)
    assert f"on {TYPE} (caused at test_other_events.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("limit", ["status", "message"])
def test_a_foreign_type_goes_with_no_status_and_no_message(fake, limit):
    options = limited(limit, fake.send_text())
    with pytest.raises(ValueError, match="select message events"):
        fake.webhooks.lose(type=TYPE, **options)
    fake.webhooks.lose(type="chat.message.updated", **options).remove()
    fake.reset()  # it never fired
