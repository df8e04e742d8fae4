"""A fake with every default, sync and at a fixed moment; and a client of its API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pytest_chatfake import ChatFake

    from .api_clients import CallApi


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with frozen_fake() as fake:
        yield fake


@pytest.fixture
def call_api() -> CallApi:
    """Call the API without a socket; ``BOTH_CLIENTS`` does it with a second client as well."""
    return call_with_werkzeug


@pytest.fixture(params=["sync", "async"])
def play(request: pytest.FixtureRequest) -> Callable[[Callable[..., Awaitable[Any]]], Any]:
    """Plays a scenario in a mode; ``do`` awaits what a verb returned, where that is the way."""
    mode = request.param

    async def do(returned: Any) -> Any:
        return await returned if mode == "async" else returned

    def play(scenario: Callable[..., Awaitable[Any]]) -> Any:
        with frozen_fake(mode=mode) as fake:
            return asyncio.run(scenario(fake, do))  # type: ignore[arg-type]

    return play
