"""People who act by themselves: a campaign over three days, against one whose verbs are written."""

from __future__ import annotations

import gc
import tracemalloc
from datetime import timedelta
from typing import TYPE_CHECKING

from ..measuring import Row, now
from .bulk import FEW, MANY, campaign, take

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3600


def by_autopilot(count: int) -> float:
    """Return the events per second of a campaign to as many people, in one move of three days."""
    from pytest_chatfake import ChatFake

    with ChatFake(opening_balance="1000000") as fake:
        fake.webhooks.connect(handler=take)
        fake.autopilot(
            deliver_after=(60, 48 * HOUR), read_after=(60, 20 * HOUR), fail_share=0.02, seed=1
        )
        gc.collect()
        started = now()
        for number in range(count):
            fake.send_text("Sale ends today", to=f"+1555{number:08}")
        fake.clock.advance(timedelta(days=3))
        seconds = now() - started
        assert {"read", "failed"} == {message.status for message in fake.messages}
        return len(fake.events) / seconds


def against_verbs(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        fake, seconds = campaign(MANY)
        written = len(fake.events) / seconds
        fake.close()
        del fake
        yield by_autopilot(FEW) / written


def peak(count: int) -> float:
    """Return the memory a message, in bytes, when such a campaign needs the most."""
    tracemalloc.start()
    by_autopilot(count)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / count


def memory(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        yield peak(FEW) / peak(FEW // 10)


ROWS = (
    Row(
        "autopilot",
        "events per second: 10,000 people over three days / 100,000 messages with written verbs",
        "at least",
        0.5,
        against_verbs,
    ),
    Row(
        "autopilot-memory",
        "most memory a message of such a campaign: 10,000 people / 1,000",
        "at most",
        1.1,
        memory,
    ),
)
