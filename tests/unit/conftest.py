"""A fake with every default, sync and at a fixed moment; and a client of its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import by_one_way
from .table import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake

    from .asking import Ask


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with frozen_fake() as fake:
        yield fake


@pytest.fixture
def ask() -> Ask:
    """Ask the API without a socket; ``BOTH_WAYS`` asks with another client as well."""
    return by_one_way
