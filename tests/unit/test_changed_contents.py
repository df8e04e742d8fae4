"""Events that come again under another id, and as a later version of the service may write them."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from pytest_chatfake import ChatFake, StandardWebhooksSigner, WebhookRequest

from .fakes import fake_with_receiver, frozen_fake, own_lines, received_statuses

UNKNOWN = "chat.unknown.added"
SECRET = "whsec_c2VjcmV0"


@pytest.mark.parametrize("event_ids", ["unique", "per-message"])
@pytest.mark.parametrize("how", [{}, {"after": 1}, {"pause": 60}])
def test_the_same_event_comes_again_under_an_id_that_nothing_else_has(
    event_ids: str, how: dict[str, int]
) -> None:
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
        assert 3 == len(fake.events)
        assert "[duplicate, new id: " in fake._story.text()


@pytest.mark.parametrize("verb", ["evolve", "duplicate"])
def test_a_retry_by_the_clock_or_at_a_barrier_has_the_changed_bytes_again(verb: str) -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        getattr(fake.webhooks, verb)(**{"new_id": True} if verb == "duplicate" else {})
        receiver.respond(500, times=2)
        fake.send_text()
        fake.clock.advance(60)

        changed, retry = receiver.requests[-2:] if verb == "evolve" else receiver.requests[1::2]
        assert (1, 2) == (changed.number, retry.number)
        assert fake.events[0].body != changed.body == retry.body
        assert changed.id == retry.id == retry.json()["id"]
        _ = fake.webhooks.attempts


def test_an_evolved_event_has_more_fields_in_another_order_and_the_same_values() -> None:
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


def test_an_event_of_an_unknown_type_comes_before_each_where_an_endpoint_listens() -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, usual):
        everything = fake.webhooks.receiver(events="*")
        fake.webhooks.evolve(status="delivered")
        everything.respond(200)
        everything.respond(500)
        fake.send_text().deliver(devices=2)
        fake.clock.advance(60)

        assert ["sent", "delivered", "delivered"] == received_statuses(usual)
        assert ["sent", None, "delivered", None, "delivered", None] == received_statuses(everything)
        assert UNKNOWN == everything.requests[-1].json()["type"]
        assert 2 == everything.requests[-1].number  # it is retried as any other
        assert "[unknown type: " in own_lines(fake._story.text())
        _ = fake.webhooks.attempts


@pytest.mark.parametrize("evolves", [False, True])
def test_what_evolves_takes_no_number_and_no_id(evolves: bool) -> None:
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver(events="*")
        fake.webhooks.drop(start=3)
        if evolves:
            fake.webhooks.evolve()
        fake.send_text().deliver()
        fake.webhooks.emit_event("chat.template.updated")
        fake.webhooks.emit_event("chat.template.updated")
        fake.send_text(to="+2").deliver(devices=2)

        came = [one for one in receiver.events if one.type != UNKNOWN]
        ids = [int(one.id[-8:], 16) for one in fake.events if one.type != UNKNOWN]
        assert [1, 2, 1, 2, 3, 4, 5] == ids
        assert [1, 2, 2, 3, 4, 5] == [int(one.id[-8:], 16) for one in came]


@pytest.mark.parametrize("raw", ["[1]", "{", "[" * 50_000, "\x00", '{"a":NaN}'])
def test_a_broken_event_stays_as_broken_as_it_was(raw: str) -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.evolve()
        fake.webhooks.emit(fake.send_text(), "sent", raw=raw)

        assert raw.encode() == receiver.requests[-1].body


def test_what_a_block_makes_at_the_same_time_has_evolved_and_comes_so(fake: ChatFake) -> None:
    inside: list[Any] = []
    most: list[int] = []

    async def app(request: WebhookRequest) -> None:
        inside.append(request.event.status)
        await asyncio.sleep(0)
        most.append(len(inside))

    fake.webhooks.connect(handler=app, events="*")
    with fake.webhooks.evolve(), fake.webhooks.concurrently():
        fake.send_text().deliver()

    assert [4] * 4 == most
    assert [None, "sent", None, "delivered"] == inside
