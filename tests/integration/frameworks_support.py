"""A hard limit for tests that run coroutines, also where one blocks its loop for ever."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SECONDS = 60.0
"""Before a test is interrupted, in real time."""


@pytest.fixture
def hard_limit() -> Iterator[None]:
    """Interrupt a test that takes too long, wherever it waits."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the test was still running after {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
