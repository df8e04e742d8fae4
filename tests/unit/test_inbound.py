"""People write back: what the event of it looks like, and who shapes it.

That it costs nothing, and who can't write, is in the model of the random scripts.
"""

import pytest

from pytest_chatfake import ChatFakeError, ClosedError, IllegalTransition, Naming

from .fakes import NOON, at, fake_with_receiver, frozen_fake

ANNA = "+4915100001"
TYPE = "chat.inbound_message.received"

fake_of = []


def written(text="STOP", /, *, fields=(), **config):
    """The body of the event of what a person writes."""
    with frozen_fake(**config) as fake:
        receiver = fake.webhooks.receiver(events="*")
        fake.recipient(ANNA, withheld=True).writes(text, **dict(fields))
        return receiver.events[0].json()


@pytest.mark.parametrize(
    ("event_type", "inbound_type", "key"),
    [
        ("chat.message.updated", TYPE, "chatInboundMessage"),
        ("update", "update.inbound_message.received", "updateInboundMessage"),
    ],
)
def test_an_inbound_event_s_type_and_key_are_named_after_the_channel(event_type, inbound_type, key):
    body = written(naming=Naming(event_type=event_type), sender="+1800")

    assert (inbound_type, key, "+1800") == (body["type"], [*body][-1], body[key]["to"])


def test_a_function_shapes_what_people_write():
    told = []

    def shape(message):
        told.append(message)
        return {"type": "wave.in", "key": "m", "id": "w-1", "resource": message.resource}

    fields = {"id": "in-7", "tag": 1}
    body = written("Hi", fields=fields, inbound=shape)
    ((id_, *others, resource),) = told
    assert [ANNA, "+15550199", "text", {"body": "Hi"}, NOON, fields] == others
    assert ("w-1", "wave.in", resource) == (body["id"], body["type"], body["m"])
    assert fields == {name: resource[name] for name in fields}
    assert id_ != "in-7"
    assert written(inbound=lambda _: {"resource": {}})["type"] == TYPE
    assert written(inbound=lambda _: {"type": "in", "body": "[1]"}) == [1]


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        (lambda _: {"typ": "x"}, TypeError),
        (lambda _: None, TypeError),
        (lambda _: {"type": ""}, ValueError),
        (lambda _: fake_of.pop().top_up(1), ChatFakeError),
    ],
)
def test_a_shape_that_can_not_be_used_is_refused_and_nothing_is_emitted(shape, error):
    with fake_with_receiver(inbound=shape) as (fake, _):
        fake_of.append(fake)
        with pytest.raises(error):
            fake.recipient(ANNA).writes("STOP")
        assert [*fake.events] == []


def test_ids_begin_anew_after_a_reset_and_people_of_before_it_do_not_write(fake):
    fake.webhooks.receiver(events="*")
    anna = fake.recipient(ANNA)
    anna.writes("1").writes("2")
    first, second = [event.body for event in fake.events]
    assert fake.send_text().id.encode() not in first
    fake.reset()
    with pytest.raises(ClosedError):
        anna.writes("3")
    fake.recipient(ANNA).writes("1").writes("2")

    assert [first, second] == [event.body for event in fake.events]


def test_the_timeline_names_the_person_and_not_their_words(fake):
    fake.webhooks.receiver(events="*")
    fake.recipient(ANNA).writes("STOP")

    told = [f"writes() {ANNA}", TYPE, f"{TYPE} -> Receiver(): 200"]
    assert told == [entry.text for entry in fake.timeline]


def test_in_the_script_of_a_message_its_person_writes_if_they_can_then(fake):
    fake.webhooks.receiver(events="*")
    message = fake.send_text(to=ANNA).after(20).writes("1").after(20).writes("2")
    first, *_ = map(str, fake.clock.agenda)
    assert first.startswith(f"{at(seconds=20):%FT%X}.000Z: writes() of message {message.id}, ")
    fake.clock.advance(20)
    assert [fake.events[-1].status, fake.events[-1].type] == [None, TYPE]
    fake.recipient(ANNA).goes_offline()
    with pytest.raises(IllegalTransition, match=r"the phone of .* is off.* scheduled for"):
        fake.clock.advance(20)
    with pytest.raises(ClosedError):
        fake.reset()
        message.writes("3")
