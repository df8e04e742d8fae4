"""Fakes at a fixed moment, and what can be seen of them in a form that tests compare."""

import asyncio
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import time_machine

from pytest_chatfake import ChatFake, WebhookWarning
from pytest_chatfake.fake.inside import Inside
from pytest_chatfake.report.section import Section

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
START = 1_767_268_800  # the same moment


def at(**since_noon):
    return NOON + timedelta(**since_noon)


@contextmanager
def frozen_fake(**config):
    """A fake whose time stands at START."""
    with time_machine.travel(START, tick=False), ChatFake(**{"seed": "unit"} | config) as fake:
        yield fake


def played(mode, scenario, **config):
    """Play a scenario, a coroutine function, in a mode, and return what it returns.

    It gets the fake, and a function that awaits what a verb returned where that is the way.
    """

    async def do(returned):
        return await returned if mode == "async" else returned

    with frozen_fake(mode=mode, **config) as fake:
        return asyncio.run(scenario(fake, do))


@contextmanager
def fake_with_receiver(**config):
    """A frozen fake, and a receiver that gets its webhooks."""
    with frozen_fake(**config) as fake:
        yield fake, fake.webhooks.receiver()


def send_to(fake, app, **options):
    """Connect a function as the app, and send it an event."""
    fake.webhooks.connect(handler=app, **options)
    fake.send_text()


def warnings_at_the_end(scenario, **config):
    """The texts of the warnings with which a fake that is not strict ends after a scenario.

    Their lines are put short: the scenario's own, and not the one that called it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with frozen_fake(**{"strict": False} | config) as fake:
            scenario(fake)
    assert all(one.category is WebhookWarning for one in caught)
    return [own_lines(str(one.message)) for one in caught]


def own_lines(text):
    """A text with lines of helpers as they stand, without the test's line that led there."""
    return re.sub(r"\S+\.py:\d+ via ", "", text)


def received_statuses(receiver):
    """The statuses of the events that the receiver got, in order."""
    return [event.status for event in receiver.events]


def received_bodies(receiver):
    return [request.body for request in receiver.requests]


def in_another_thread(verb):
    """Call a verb in another thread, and return what it returned."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(verb).result(60)


def trail(fake, start=0):
    """The attempts in one line, without what is usual: number 1, a status of 200, the hour of noon.

    A refused connection and its retry a minute later are `sent refuse ConnectionRefusedError, sent
    #2 +60`.
    """
    found = []
    for one in fake.webhooks.attempts[start:]:
        how = one.outcome.removeprefix("status ").partition(":")[0]
        seconds = (one.at - NOON).total_seconds()
        unusual = {
            f"#{one.number}": one.number > 1,
            one.fault: one.fault is not None,
            how: how != "200",
            f"+{seconds:g}": seconds != 0,
        }
        found.append(" ".join([one.event.status, *(word for word in unusual if unusual[word])]))
    return ", ".join(found)


def stages(fake):
    """The attempts up to now | those of a settle() | those of an hour."""
    found, seen = [], 0
    for go_on in (list, fake.settle, partial(fake.clock.advance, hours=1)):
        go_on()
        found.append(trail(fake, seen))
        seen = len(fake.webhooks.attempts)
    return " | ".join(found).rstrip(" |")


def section(fake):
    """What the report of a failing test says of a fake."""
    return str(Section(Inside(fake).story))


def visible_state(fake):
    """All that a refused call must leave as it was; what sets up a fault is recorded, too."""
    inside = Inside(fake)
    return [
        fake.balance,
        list(fake.ledger),
        [(event.id, event.body) for event in fake.events],
        [(one.id, one.status, one.dropped, one.total_price) for one in fake.messages],
        [(one.id, one.state) for one in fake.conversations],
        len(fake.webhooks.attempts),
        [*inside.records],
        [*inside.connected],
        fake.clock.now,
        fake.clock.next_due,
        fake.api_key,
    ]


@contextmanager
def unchanged(fake):
    """Whatever is done in the block leaves the fake as it was."""
    before = visible_state(fake)
    yield
    assert before == visible_state(fake)
