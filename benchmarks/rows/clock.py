"""Moving time over a hundred thousand things that fall due, each at a moment of its own."""

from __future__ import annotations

import gc
import time
from datetime import timedelta
from heapq import heapify, heappop
from typing import TYPE_CHECKING

from ..measuring import Row, now, times

if TYPE_CHECKING:
    from collections.abc import Iterator

PENDING = 100_000
MILLISECOND = 1_000_000
DAYS = 30


def advance() -> float:
    """Let 30 days pass over messages that were sent a millisecond apart: each drop is a step."""
    from time_machine import travel

    from pytest_chatfake import ChatFake

    with travel(1_767_268_800, tick=False) as traveller, ChatFake() as fake:
        step = timedelta(milliseconds=1)
        for _ in range(PENDING):
            fake.send_text("Are you there?")
            traveller.shift(step)
        gc.collect()
        started = now()
        fake.clock.advance(days=DAYS)
        seconds = now() - started
        fake.assert_held("0")
    return seconds


def drain() -> float:
    """Take as many moments from a heap, and move time to each."""
    from time_machine import travel

    with travel(1_767_268_800, tick=False) as traveller:
        start = time.time_ns() + DAYS * 24 * 3600 * 1_000 * MILLISECOND
        heap = [start + number * MILLISECOND << 40 | number for number in range(PENDING)]
        heapify(heap)
        gc.collect()
        started = now()
        moment = time.time_ns()
        while heap:
            due = heappop(heap) >> 40
            traveller.shift(timedelta(microseconds=(due - moment) // 1_000))
            moment = due
        seconds = now() - started
        assert time.time_ns() == due
    return seconds


def over_drops(rounds: int) -> Iterator[float]:
    return times(rounds, advance, drain, slices=1)


ROWS = (
    Row(
        "advance",
        "advance(days=30) over 100,000 pending drops / a bare heap with one shift each",
        "at most",
        4,
        over_drops,
    ),
)
