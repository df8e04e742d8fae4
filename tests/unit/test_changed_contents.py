"""Events that come again under another id, and as a later version of the service may write them."""

import asyncio
import json
from functools import reduce
from operator import getitem

import pytest
from standardwebhooks.webhooks import Webhook

from pytest_chatfake import Naming, StandardWebhooksSigner

from .fakes import fake_with_receiver, frozen_fake

SECRET = "whsec_c2VjcmV0"


@pytest.mark.parametrize("event_ids", ["unique", "per-message"])
@pytest.mark.parametrize("how", [{}, {"after": 1}, {"pause": 60}])
def test_the_same_event_comes_again_under_an_id_that_nothing_else_has(event_ids, how):
    with fake_with_receiver(event_ids=event_ids, signer=StandardWebhooksSigner(SECRET)) as (
        fake,
        receiver,
    ):
        fake.webhooks.duplicate(new_id=True, start=2, **how)
        fake.send_text().deliver().read()
        fake.settle()

        first, second = (one for one in receiver.requests if one.event.status == "delivered")
        assert second.id not in {event.id for event in fake.events}
        assert second.id == second.json()["id"] == second.headers["webhook-id"]
        assert first.body.replace(first.id.encode(), second.id.encode()) == second.body
        assert len(fake.events) == 3
        assert "[duplicate, new id: " in fake.timeline.text()


@pytest.mark.parametrize("verb", ["evolve", "duplicate"])
def test_a_retry_by_the_clock_or_at_a_barrier_has_the_changed_bytes_again(verb):
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        getattr(fake.webhooks, verb)(**{"new_id": True} if verb == "duplicate" else {})
        receiver.respond(500, times=2)
        fake.send_text()
        fake.clock.advance(60)

        changed, retry = receiver.requests[-2:] if verb == "evolve" else receiver.requests[1::2]
        assert (changed.number, retry.number) == (1, 2)
        assert fake.events[0].body != changed.body == retry.body
        assert changed.id == retry.id == retry.json()["id"]
        _ = fake.webhooks.attempts


def test_an_evolved_event_has_added_fields_a_new_order_and_the_same_values():
    with fake_with_receiver(signer=StandardWebhooksSigner(SECRET)) as (fake, receiver):
        with fake.webhooks.evolve():
            fake.send_text(price="0.10")
        fake.send_text()

        evolved, later = receiver.requests
        assert Webhook(SECRET).verify(evolved.body, dict(evolved.headers))
        got, written = evolved.json(), fake.events[0].json()
        for _ in ("the envelope", "the resource", "the conversation"):
            assert got.pop("addedLater")
            assert [*got] == [*written][::-1]
            inside = "chatMessage" if "chatMessage" in got else "conversation"
            got, written = got.get(inside, {}), written.get(inside, {})
        assert b'"totalPrice":0.10' in evolved.body
        assert fake.events[1].body == later.body


@pytest.mark.parametrize(
    ("path", "value", "statuses"),
    [
        ("conversation.originType", "added_later", {"sent", "delivered"}),
        ("conversation.type", "ADDED_LATER", {"delivered"}),
        ("errorCode", "909090", {"failed"}),
        ("status", "added_later", {"sent", "delivered", "failed"}),
        ("type", "added_later", {"sent", "delivered", "failed"}),
    ],
)
def test_a_field_has_an_unknown_value_in_the_events_that_have_the_field(path, value, statuses):
    with frozen_fake(naming=Naming(message_key="wa")) as fake:
        receiver = fake.webhooks.receiver(events="*")
        fault = fake.webhooks.evolve(unknown=path)
        fake.send_text().deliver()
        fake.send_text().fail()
        fake.recipient("+1").writes("Hi")

        *parents, name = path.split(".")
        for request, event in zip(receiver.requests, fake.events, strict=True):
            expected = json.loads(event.body)
            if event.status in statuses:
                reduce(getitem, parents, expected["wa"])[name] = value
            assert expected == json.loads(request.body)
            assert (event.status in statuses) == (request.body != event.body)
        assert sum(event.status in statuses for event in fake.events) == fault.fired
        assert f"evolve(unknown={path!r})" == fault.description


def test_no_attempt_is_marked_whose_event_could_not_evolve():
    with fake_with_receiver() as (fake, _):
        fault = fake.webhooks.evolve(unknown="errorCode", times=1)
        fake.send_text().fail()

        assert [each.fault for each in fake.webhooks.attempts] == [None, "evolve"]
        assert fault.fired == 1


def test_a_field_whose_values_are_no_list_has_no_unknown_one(fake):
    with pytest.raises(ValueError, match=r"unknown field in unknown= 'currency': use .*errorCode"):
        fake.webhooks.evolve(unknown="currency")


@pytest.mark.parametrize("raw", ["[1]", "{", "[" * 50_000, "\x00", '{"a":NaN}'])
def test_a_broken_event_stays_as_broken_as_it_was(fake, receiver, raw):
    fake.webhooks.evolve()
    fake.webhooks.emit(fake.send_text(), "sent", raw=raw)

    assert raw.encode() == receiver.requests[-1].body


@pytest.mark.parametrize(
    ("verb", "options", "expected"),
    [
        ("evolve", {}, ["sent", "delivered"]),
        ("duplicate", {"new_id": True}, ["sent", "sent", "delivered"]),
    ],
)
def test_changed_and_repeated_events_of_a_block_come_at_the_same_time(
    fake, verb, options, expected
):
    inside, most = {}, []

    async def app(request):
        inside[request.id] = request.event.status
        await asyncio.sleep(0)
        most.append(len(inside))

    fake.webhooks.connect(handler=app)
    with getattr(fake.webhooks, verb)(**options), fake.webhooks.concurrently():
        fake.send_text().deliver()

    assert most == [len(expected)] * len(expected)
    assert [*inside.values()] == expected
