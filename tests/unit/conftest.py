"""A fake with every default, sync and at a fixed moment; and a client of its API."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake, played

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake, Receiver

    from .api_clients import CallApi
    from .fakes import Play


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with frozen_fake() as fake:
        yield fake


@pytest.fixture
def receiver(fake: ChatFake) -> Receiver:
    """What gets the fake's webhooks."""
    return fake.webhooks.receiver()


@pytest.fixture
def call_api() -> CallApi:
    """Call the API without a socket."""
    return call_with_werkzeug


@pytest.fixture(params=["sync", "async"])
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a scenario in a mode."""
    return partial(played, request.param)
