"""The fake of tests that need no other: sync, at a fixed moment, with every default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .table import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with frozen_fake() as fake:
        yield fake
