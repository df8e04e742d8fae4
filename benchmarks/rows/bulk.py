"""A campaign: many messages in one test, each sent, delivered and read, with everything kept."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

from ..measuring import Row, now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake
    from pytest_chatfake.domain.facts import Fact

MANY = 100_000
FEW = 10_000
TRACED = 20_000  # tracemalloc slows everything down


def take(_: object) -> None:
    """Be the handler, of both sides."""


def campaign(count: int) -> tuple[ChatFake, float]:
    """Send, deliver and read; each message goes to a person of its own, so each moves money."""
    from pytest_chatfake import ChatFake

    fake = ChatFake(opening_balance="1000000")
    fake.webhooks.connect(handler=take)
    gc.collect()
    started = now()
    for number in range(count):
        fake.send_text("Sale ends today", to=f"+1555{number:08}").deliver().read()
    return fake, now() - started


def bare_loop(fake: ChatFake) -> float:
    """Write the same bodies with the same function, and give them to the same handler."""
    from pytest_chatfake.domain.facts import Fact
    from pytest_chatfake.domain.reasons import RULES
    from pytest_chatfake.wire.bodies import EventWriter

    config = fake.config
    writer = EventWriter(config.naming, config.currency, config.conversation_type, config.sender)
    rule = next(iter(RULES.values()))  # the writer does not look at it
    messages = {one.id: one for one in fake._engine.account.messages}
    writings: list[tuple[str, Fact]] = []
    for event in fake.events:
        message = messages[event.message_id]
        conversation = message.conversation
        assert conversation is not None
        expiry = conversation.expires_at
        if event.status == "sent":
            expiry = event.moment + 24 * 3600 * 1_000_000_000
        what: Any = event.status
        fact = Fact(
            what,
            message,
            event.moment,
            rule,
            message.total_price,
            conversation,
            expiry,
        )
        writings.append((event.id, fact))
    assert [writer.write(*writing) for writing in writings] == [event.body for event in fake.events]
    gc.collect()
    started = now()
    for writing in writings:
        take(writer.write(*writing))
    return now() - started


def against_bare_loop(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        fake, ours = campaign(MANY)
        with fake:
            theirs = bare_loop(fake)
        yield ours / theirs


def growth(rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        small = []
        for _ in range(3):
            fake, seconds = campaign(FEW)
            fake.close()
            small.append(seconds / FEW)
        del fake
        fake, seconds = campaign(MANY)
        fake.close()
        del fake
        yield seconds / MANY / sorted(small)[1]


def memory(rounds: int) -> Iterator[float]:
    for number in range(rounds + 1):
        gc.collect()
        tracemalloc.start()
        fake, _ = campaign(TRACED)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(fake.events) == len(fake.webhooks.attempts) == 3 * TRACED
        fake.close()
        del fake
        if number:  # the first one also imported the package
            yield size / TRACED / 1024


ROWS = (
    Row(
        "bulk-time",
        "100,000 messages sent, delivered, read with a handler / a loop that writes the bodies",
        "at most",
        8,
        against_bare_loop,
        better=5,
    ),
    Row(
        "bulk-growth",
        "the same: time per message at 100,000 / at 10,000",
        "at most",
        1.2,
        growth,
    ),
    Row(
        "bulk-memory",
        "the same: memory per finished message, everything kept (tracemalloc)",
        "at most",
        3.5,
        memory,
        unit="KiB",
    ),
)
