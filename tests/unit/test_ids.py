"""Identifiers: the same by the same seed, and nobody else's without one."""

import re

import pytest

from pytest_chatfake import ChatFake


def ids(fake):
    """One id of each kind."""
    message = fake.send_text()
    assert message.conversation is not None
    return [
        *[message.id, message.chat_message_id.removeprefix("wamid.")],
        *[message.events[0].id.removeprefix("evt_"), message.conversation.id],
    ]


def test_fakes_without_a_seed_share_no_ids():
    with ChatFake() as first, ChatFake() as second:
        every = ids(first) + ids(second)
    assert len(set(every)) == 8
    parts = {one[:8].lower() for one in every}
    assert len(parts) == 8  # nor do they differ by a number alone


def test_a_reset_begins_with_the_same_ids_also_without_a_seed():
    with ChatFake() as fake:
        before = ids(fake)
        fake.reset()
        assert before == ids(fake)


def test_two_fakes_with_one_seed_have_the_same_ids():
    with ChatFake(seed="a") as first, ChatFake(seed="a") as second, ChatFake(seed="b") as other:
        assert ids(first) == ids(second)
        assert set() == {*ids(first)} & {*ids(other)}


def test_ids_have_the_shapes_of_the_services(fake):
    shapes = [
        "[0-9a-f]{24}",
        "[0-9A-F]{24}",
        "[0-9a-f]{24}",
        "[0-9a-f]{32}",
        "key_[0-9a-f]{32}",
    ]
    for shape, one in zip(shapes, [*ids(fake), fake.api_key], strict=True):
        assert re.fullmatch(shape, one)


def test_an_event_of_another_type_has_an_id_of_its_own_in_the_same_shape():
    with ChatFake(seed="a") as fake:
        fake.webhooks.connect(handler=lambda request: None, events="*")
        fake.send_text()
        fake.webhooks.emit_event("chat.template.updated", {"name": "sale"})
        ids = [attempt.event.id for attempt in fake.webhooks.attempts]
    assert all(re.fullmatch("evt_[0-9a-f]{24}", one) for one in ids)
    assert len({one[:12] for one in ids}) == 2


@pytest.mark.parametrize(
    ("given", "other"),
    [
        (None, "evt_[0-9a-f]{24}"),
        ("1000000007", "[0-9]{10}"),
        ("evt-1", "evt-[0-9]"),
        ("order-xyz", "order-[a-z]{3}"),
        ("order_", "order_2"),
        ("0b5c7f2e-1111-4222-8333-94445556666a", "0b5c7f2e-1111-4222-8333-[0-9a-f]{12}"),
    ],
)
def test_another_id_for_an_event_has_the_shape_of_the_first(given, other):
    with ChatFake(seed="a") as fake:
        receiver = fake.webhooks.receiver(events="*")
        fake.webhooks.duplicate(new_id=True)
        fake.webhooks.emit_event("chat.template.updated", {"name": "sale"}, id=given)
        first, second = (request.json()["id"] for request in receiver.requests)
    assert re.fullmatch(other, second)
    assert first != second
