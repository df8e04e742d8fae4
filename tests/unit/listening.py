"""A fake with a receiver, and short words for what the receiver met."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_chatfake import WebhookWarning

from .table import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_chatfake import ChatFake, Receiver


@contextmanager
def listening(**config: Any) -> Iterator[tuple[ChatFake, Receiver]]:
    with frozen_fake(**config) as fake:
        yield fake, fake.webhooks.receiver()


def warned(scenario: Callable[[ChatFake], object], **config: Any) -> list[str]:
    """The texts of the warnings with which a fake ends after a scenario."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with frozen_fake(**config) as fake:
            scenario(fake)
    assert all(one.category is WebhookWarning for one in caught)
    return [str(one.message) for one in caught]


def statuses(receiver: Receiver) -> list[str]:
    """What the receiver was told, in order."""
    return [event.status for event in receiver.events]


def bodies(receiver: Receiver) -> list[bytes]:
    return [request.body for request in receiver.requests]


def tried(fake: ChatFake) -> list[tuple[str, int, str | None, int | None]]:
    """The attempts: status of the event, number, fault, status of the answer."""
    return [
        (one.event.status, one.number, one.fault, one.status_code) for one in fake.webhooks.attempts
    ]


def snapshot(fake: ChatFake) -> list[object]:
    """All that a refused call must leave as it was."""
    return [
        fake.balance,
        list(fake.ledger),
        [(event.id, event.body) for event in fake.events],
        [(message.id, message.status, message.total_price) for message in fake.messages],
        [(one.id, one.state) for one in fake.conversations],
        len(fake.webhooks.attempts),
        fake._engine.outbox.endpoints,
        list(fake._engine.outbox.faults.active),
        list(fake.api._faults.active),
        fake.clock.now,
        fake.clock.next_due,
        fake.api_key,
    ]
