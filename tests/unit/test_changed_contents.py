"""Events that come again under another id, and as a later version of the service may write them."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from standardwebhooks.webhooks import Webhook

from pytest_chatfake import ChatFake, StandardWebhooksSigner

from .fakes import fake_with_receiver, frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import WebhookRequest

UNKNOWN = "chat.unknown.added"
SECRET = "whsec_c2VjcmV0"


@pytest.mark.parametrize("event_ids", ["unique", "per-message"])
@pytest.mark.parametrize("how", [{}, {"after": 1}, {"pause": 60}])
def test_the_same_event_comes_again_under_an_id_that_nothing_else_has(
    event_ids: str, how: dict[str, int]
) -> None:
    signer = StandardWebhooksSigner(SECRET)
    with fake_with_receiver(event_ids=event_ids, signer=signer) as (fake, receiver):
        fake.webhooks.duplicate(new_id=True, start=2, **how)
        fake.send_text().deliver().read()
        fake.settle()

        first, second = (one for one in receiver.requests if one.event.status == "delivered")
        ids = {event.id for event in fake.events}
        assert second.id not in ids
        assert second.id == second.json()["id"] == second.headers["webhook-id"]
        assert first.body.replace(first.id.encode(), second.id.encode()) == second.body
        assert Webhook(SECRET).verify(second.body, dict(second.headers))

        (mark,) = (mark for one in fake.webhooks.attempts for mark in one.marks)
        assert "duplicate, new id" == mark.text
        with frozen_fake(event_ids=event_ids) as plain:
            plain.send_text().deliver().read()
            assert {event.id for event in plain.events} == ids  # none was taken


@pytest.mark.parametrize("verb", ["evolve", "duplicate"])
def test_a_retry_by_the_clock_or_at_a_barrier_has_the_changed_bytes_again(verb: str) -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        if verb == "evolve":
            fake.webhooks.evolve()
        else:
            fake.webhooks.duplicate(new_id=True)
            receiver.respond(200)
        receiver.respond(500)
        fake.send_text()
        fake.clock.advance(60)

        *_, changed, retry = receiver.requests
        assert (1, 2) == (changed.number, retry.number)
        assert fake.events[0].body != changed.body == retry.body
        assert changed.id == retry.id == retry.json()["id"]
        _ = fake.webhooks.attempts


def test_an_evolved_event_has_more_fields_in_another_order_and_the_same_values() -> None:
    signer = StandardWebhooksSigner(SECRET)
    with fake_with_receiver(signer=signer) as (fake, receiver):
        with fake.webhooks.evolve() as fault:
            fake.send_text(price="0.10").deliver()
        fake.webhooks.tamper()
        fake.send_text()

        evolved, event = receiver.requests[1].json(), fake.events[1].json()
        assert Webhook(SECRET).verify(receiver.requests[1].body, dict(receiver.requests[1].headers))
        for got, written in [
            (evolved, event),
            (evolved["chatMessage"], event["chatMessage"]),
            (evolved["chatMessage"]["conversation"], event["chatMessage"]["conversation"]),
        ]:
            assert got.pop("addedLater")
            assert [*got] == [*written][::-1]
        assert b'"totalPrice":0.10' in receiver.requests[1].body
        assert evolved == receiver.requests[1].event.json() | {
            "chatMessage": evolved["chatMessage"]
        }
        assert 2 == fault.fired
        assert fake.events[2].body + b" " == receiver.requests[2].body
        assert ["evolve", "evolve", "tamper"] == [one.fault for one in fake.webhooks.attempts]
        assert "evolve()" == fault.description


def test_an_event_of_an_unknown_type_comes_before_each_where_an_endpoint_listens() -> None:
    with fake_with_receiver(retry_after=[60]) as (fake, usual):
        everything = fake.webhooks.receiver(events="*")
        fake.webhooks.evolve(status="delivered")
        everything.respond(200)
        everything.respond(500)
        fake.send_text().deliver(devices=2)
        fake.clock.advance(60)

        assert ["sent", "delivered", "delivered"] == [one.status for one in usual.events]
        assert ["sent", None, "delivered", None, "delivered", None] == [
            one.status for one in everything.events
        ]
        told = [one.json()["type"] for one in everything.requests if not one.event.status]
        assert [UNKNOWN] * 3 == told
        assert 2 == everything.requests[-1].number  # it is retried as any other
        assert "unknown type" in [mark.text for one in fake.webhooks.attempts for mark in one.marks]
        _ = fake.webhooks.attempts


def scene(fake: ChatFake) -> list[tuple[str | None, str]]:
    fake.send_text().deliver()
    fake.webhooks.emit_event("chat.template.updated")
    fake.send_text(to="+2").deliver(devices=2)
    fake.settle()
    return [(one.status, one.id) for one in fake.events if one.type != UNKNOWN]


def test_what_evolves_takes_no_number_and_no_id() -> None:
    def attempts(set_up: Callable[[ChatFake], Any]) -> tuple[Any, list[Any]]:
        with frozen_fake() as fake:
            receiver = fake.webhooks.receiver(events="*")
            fake.webhooks.refuse(start=3)
            fake.webhooks.drop(start=5)
            set_up(fake)
            events = scene(fake)
            return events, [one.event.id for one in receiver.requests if one.event.type != UNKNOWN]

    assert attempts(lambda _: None) == attempts(lambda fake: fake.webhooks.evolve())


@pytest.mark.parametrize("raw", ["[1]", "{", "[" * 50_000, "\x00", '{"a":NaN}'])
def test_a_broken_event_stays_as_broken_as_it_was(raw: str) -> None:
    with fake_with_receiver() as (fake, receiver):
        fake.webhooks.evolve()
        fake.webhooks.emit(fake.send_text(), "sent", raw=raw)

        assert raw.encode() == receiver.requests[-1].body


def test_what_a_block_makes_at_the_same_time_has_evolved_and_comes_so() -> None:
    inside: list[Any] = []
    most: list[int] = []

    async def app(request: WebhookRequest) -> None:
        inside.append(request)
        await asyncio.sleep(0)
        most.append(len(inside))

    with frozen_fake() as fake:
        fake.webhooks.connect(handler=app, events="*")
        with fake.webhooks.evolve(), fake.webhooks.concurrently():
            fake.send_text().deliver()

    assert [4] * 4 == most
    assert [None, "sent", None, "delivered"] == [one.event.status for one in inside]


def test_what_a_block_holds_back_has_evolved_when_it_is_released() -> None:
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver(events="*")
        with fake.webhooks.evolve(), fake.webhooks.paused():
            fake.send_text().deliver()

        assert [None, "sent", None, "delivered"] == [one.status for one in receiver.events]
        assert all("addedLater" in one.json() or not one.event.status for one in receiver.requests)
