"""What several tests of the listener's side need: an API to answer, and somebody who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .listener_support import FakeApi, RawClient, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake.transport.server.listener import Listener


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def listener(api: FakeApi) -> Iterator[Listener]:
    with listening(api) as listener:
        yield listener


@pytest.fixture
def client(listener: Listener) -> Iterator[RawClient]:
    with RawClient(listener) as client:
        yield client
