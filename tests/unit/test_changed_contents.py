"""Events that are tampered with, signed otherwise, and as a later version may write them."""

import asyncio
import json
from functools import reduce
from operator import getitem

import pytest
from standardwebhooks.webhooks import Webhook

from pytest_chatfake import Naming, StandardWebhooksSigner

from .fakes import fake_with_receiver, frozen_fake, received_statuses

SECRET = "whsec_c2VjcmV0"


def signed(request):
    return {"X-Signature": "right" if request.body.endswith(b"}") else "of a changed body"}


def wrong(_):
    return {"X-Signature": "wrong"}


def unsigned(_):
    return {}


#: What is set up, and what is posted of sent and delivered: whether fields were added later,
#: the signature, and what stands after the last brace.
CHANGED = [
    (lambda w: w.tamper(), "sent right _, delivered right"),
    (
        lambda w: [
            w.tamper(lambda body: body + b"1"),
            w.duplicate(),
            w.tamper(lambda body: body + b"2", times=2),
        ],
        "sent right 12, sent right 12, delivered right 2",
    ),
    (lambda w: [w.sign(wrong), w.sign(unsigned)], "sent unsigned, delivered right"),
    (lambda w: [w.sign(unsigned), w.sign(wrong)], "sent wrong, delivered right"),
    (lambda w: [w.sign(wrong), w.sign(unsigned, start=2)], "sent wrong, delivered unsigned"),
    (
        lambda w: [w.tamper(), w.duplicate(after=1), w.sign(wrong), w.evolve(times=1), w.refuse()],
        "delivered right, sent evolved wrong _, sent evolved right",  # the retry was written so
    ),
]


@pytest.mark.parametrize(("set_up", "expected"), CHANGED)
def test_faults_change_what_is_posted_together_and_in_their_order(set_up, expected):
    with fake_with_receiver(signer=signed) as (fake, receiver):
        set_up(fake.webhooks)
        fake.send_text().deliver()
        fake.settle()

        posted = []
        for one in receiver.requests:
            evolved, added = b"addedLater" in one.body, one.body.rpartition(b"}")[2].decode()
            signature = one.headers.get("X-Signature", "unsigned")
            words = one.event.status, "evolved" * evolved, signature, added.replace(" ", "_")
            posted.append(" ".join(filter(None, words)))
        assert ", ".join(posted) == expected


def test_an_attempt_says_what_is_wrong_with_its_signature():
    with fake_with_receiver(signer=signed) as (fake, _):
        fake.webhooks.sign(wrong, times=2)
        fake.webhooks.sign(unsigned)
        fake.send_text().deliver()

        marks = [[mark.text for mark in one.marks] for one in fake.webhooks.attempts]
        assert marks == [["missing signature"] * 2, ["wrong signature"]]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda body: body.decode(), TypeError, r"expected bytes such as body\[:-1\], got"),
        (lambda body: unsigned, TypeError, "returned: expected bytes"),
        (lambda body: body[10**9], IndexError, "out of range"),
    ],
)
def test_a_tampering_function_that_goes_wrong_raises_and_spares_the_others(
    fake, receiver, change, error, words
):
    other = fake.webhooks.receiver()
    fake.webhooks.tamper(change, endpoint=receiver.endpoint)
    with pytest.raises(error, match=words):
        fake.send_text()

    assert [received_statuses(receiver), received_statuses(other)] == [[], ["sent"]]
    assert [type(one.error) for one in fake.webhooks.attempts] == [error, type(None)]


# -- a new id --------------------------------------------------------------------------------------


@pytest.mark.parametrize("event_ids", ["unique", "per-message"])
@pytest.mark.parametrize("how", [{}, {"after": 1}, {"pause": 60}])
def test_a_duplicate_with_a_new_id_has_an_id_that_no_event_has(event_ids, how):
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


def test_a_retry_has_the_changed_bytes_again():
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        fake.webhooks.evolve()
        fake.webhooks.evolve(unknown="type")
        fake.webhooks.duplicate(new_id=True)
        receiver.respond(500, times=2)
        fake.send_text()
        fake.clock.advance(60)

        posted = [(one.id, one.body) for one in receiver.requests]
        assert [one.number for one in receiver.requests] == [1, 1, 2, 2]
        assert posted[2:] == posted[:2]
        assert [one.json()["id"] for one in receiver.requests] == [id_ for id_, _ in posted]
        assert len({fake.events[0].body, *(body for _, body in posted)}) == 3


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
            assert json.loads(request.body) == expected
        assert fault.fired == sum(event.status in statuses for event in fake.events)
        assert fault.description == f"evolve(unknown={path!r})"


def test_no_attempt_is_marked_whose_event_could_not_evolve(fake, receiver):
    fault = fake.webhooks.evolve(unknown="errorCode", times=1)
    fake.send_text().fail()

    assert [each.fault for each in fake.webhooks.attempts] == [None, "evolve"]
    assert fault.fired == 1


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


def test_what_the_signer_returns_wins_over_the_endpoints_own_headers(fake):
    got = []
    fake.webhooks.connect(
        handler=lambda one: got.append(one.headers["X-Mine"]),
        headers={"X-Mine": "fixed"},
        signer=lambda _: {"X-Mine": "signed"},
    )
    fake.send_text()

    assert got == ["signed"]


def test_evolved_events_leave_parts_such_as_the_text_as_they_are(fake, receiver):
    fake.webhooks.evolve()
    fake.send_text()

    assert "addedLater" not in receiver.requests[0].json()["chatMessage"]["text"]
