"""Webhooks inside the test's transaction: whatever they store is gone after the test."""

from decimal import Decimal
from typing import Any

import pytest
from alerts_django.models import Message
from django.test import Client

from pytest_chatfake import ChatFake

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("connected")]


def test_a_message_is_kept_with_what_it_cost(chat_fake: ChatFake) -> None:
    message = chat_fake.send_text().deliver(devices=2).read()

    kept = Message.objects.get()
    assert kept.id == message.id
    assert kept.status == "read"
    assert (kept.price, kept.currency) == (Decimal("0.05"), "USD")


@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_row_of_one_test_is_seen_by_the_next(chat_fake: ChatFake, turn: str) -> None:
    assert not Message.objects.exists()
    chat_fake.send_text()
    assert Message.objects.count() == 1


def test_an_event_that_comes_twice_changes_nothing(chat_fake: ChatFake) -> None:
    chat_fake.webhooks.duplicate(times=None)
    chat_fake.send_text().deliver()
    assert Message.objects.get().status == "delivered"


def test_a_late_event_takes_no_status_back(chat_fake: ChatFake) -> None:
    with chat_fake.webhooks.paused() as queue:
        chat_fake.send_text().deliver().read()
        queue.release(order="reversed")
    assert Message.objects.get().status == "read"


def test_the_team_is_told_of_a_failure_once_it_is_stored(
    chat_fake: ChatFake, mailoutbox: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    # The test's transaction is never committed, so its callbacks wait until they are asked for.
    with django_capture_on_commit_callbacks(execute=True):
        message = chat_fake.send_text().fail()
        assert not mailoutbox

    assert [mail.body for mail in mailoutbox] == [f"{message.id}: Message Undeliverable"]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type": "chat.message.updated"}', b"\xff"])
def test_what_is_no_event_is_refused(client: Client, body: bytes) -> None:
    response = client.post("/hooks/chat", body, content_type="application/json")
    assert response.status_code == 400
