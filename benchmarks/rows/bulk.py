"""A campaign: many messages in one test, with everything kept."""

from __future__ import annotations

import gc
import tracemalloc
from time import process_time
from typing import TYPE_CHECKING

from ..measuring import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake

MANY = 20_000
KEPT = 5_000


def campaign(messages: int) -> ChatFake:
    """Send, deliver and read; each message goes to a person of its own, so each moves money."""
    from pytest_chatfake import ChatFake

    fake = ChatFake(opening_balance="1000000")
    fake.webhooks.connect(handler=lambda _: None)
    for number in range(messages):
        fake.send_text("Sale ends today", to=f"+1555{number:08}").deliver().read()
    return fake


def memory(rounds: int) -> Iterator[float]:
    campaign(1).close()  # imports the package
    for _ in range(rounds):
        gc.collect()
        tracemalloc.start()
        fake = campaign(KEPT)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(fake.events) == len(fake.webhooks.attempts) == 3 * KEPT
        fake.close()
        del fake
        yield size / KEPT / 1024


def failed_section(rounds: int) -> Iterator[float]:
    """Time what a failed expectation and the section of its report take, in processor time."""
    from pytest_chatfake.fake.inside import Inside
    from pytest_chatfake.report.section import Section

    for _ in range(rounds):
        with campaign(MANY) as fake:
            gc.collect()
            started = process_time()
            try:
                fake.assert_charged("0")
            except AssertionError:
                assert str(Section(Inside(fake).story))
            yield process_time() - started


ROWS = (
    Row(
        "bulk-memory",
        f"memory a message that was sent, delivered and read, of {KEPT:,} (tracemalloc)",
        "at most",
        5.25,
        memory,
        unit="KiB",
    ),
    Row(
        "failed-section",
        f"a failed assert_charged() after {MANY:,} messages, and its section, in processor time",
        "at most",
        0.5,
        failed_section,
        unit="s",
    ),
)
