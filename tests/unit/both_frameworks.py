"""Runs coroutines in asyncio and in trio, each under a hard limit. No test hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
import trio

T = TypeVar("T")

SECONDS = 10.0
"""Before a test gives up on a coroutine."""

Run = Callable[[Callable[[], Awaitable[T]]], T]


def in_asyncio(function: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        async with asyncio.timeout(SECONDS):
            result = await function()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert set() == others, "a task was left behind"
        return result

    return asyncio.run(main())


def in_trio(function: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        with trio.fail_after(SECONDS):
            return await function()

    return trio.run(main)


BOTH = pytest.mark.parametrize("run", [in_asyncio, in_trio], ids=["asyncio", "trio"])
