"""Checks that fit into one line of a body: methods of the fake, written as functions of it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Generator, Iterator
from typing import Any, Protocol

from ..base.arguments import cited
from ..base.errors import ChatFakeError
from ..engine.engine import Engine
from ..engine.performer import NOTHING_TO_AWAIT, PendingPlan
from ..webhooks.events import Event
from ..webhooks.fault_kinds import effect_of
from .webhooks import Webhooks

#: Gives what an app has made of its events, in a form that can be compared; it may be async.
Snapshot = Callable[[], Any]


class Kept:
    """The snapshots of the first world of an exploration, with which others are compared."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._place = 0
        self.learning: bool = True

    def begin(self, *, learning: bool) -> None:
        """Begin a world; the first one is learned from."""
        self._place = 0
        self.learning = learning

    def compare(self, value: Any) -> None:
        """Keep a snapshot, or compare it with the one that was kept.

        Raises:
            AssertionError: It is another one.
        """
        place, self._place = self._place, self._place + 1
        if self.learning:
            self._values.append(value)
        elif place >= len(self._values):
            raise AssertionError(
                f"assert_order_independent() was called {place + 1} times in this world, and "
                f"{len(self._values)} times in the one as written: call it as often in each"
            )
        elif value != self._values[place]:
            raise AssertionError(
                f"the snapshot depends on the order of events:\n"
                f"  in the world as written  {self._values[place]!r}\n"
                f"  in this world            {value!r}"
            )


class Checked(Protocol):
    """The fake whose app is checked."""

    _engine: Engine
    _kept: Kept | None
    webhooks: Webhooks

    def settle(self) -> PendingPlan:
        """Attempt what is queued."""
        ...


class PendingCheck:
    """What a check returns: ``await`` it in async mode; in sync mode it was done."""

    __slots__ = ("_check",)

    def __init__(self, check: Callable[[], Generator[Any, Any, None]] | None) -> None:
        self._check = check

    def __await__(self) -> Generator[Any, Any, None]:
        if self._check is None:
            raise TypeError(NOTHING_TO_AWAIT)
        yield from self._check()


def assert_idempotent(fake: Checked, snapshot: Snapshot) -> PendingCheck:
    """Attempt everything again, byte for byte, and expect that the app's snapshot stays equal.

    What is queued and due is attempted before. Then every event that an endpoint has taken comes
    again, in order, and the snapshot is compared after each.

    Args:
        snapshot: A function without arguments that returns what the app has made of its events: a
            sum, a dict of statuses, rows. In async mode it may be ``async def``.

    Returns:
        Something to ``await`` in async mode.

    Raises:
        AssertionError: It does not; the message names the first event that changed it.
        ChatFakeError: There is nothing to attempt again, or it does not come to the app: a fault or
            a pause is in its way.
        TypeError: It is no function, or returns what can't be copied.
    """
    _check_function(snapshot, "assert_idempotent()")
    if _is_async(fake, "assert_idempotent()"):
        return PendingCheck(lambda: _idempotent_async(fake, snapshot).__await__())
    fake.settle()
    before = _copied(snapshot())
    for event in _taken(fake):
        attempted = len(fake._engine.outbox.attempts)
        fake.webhooks.redeliver(event)
        fake.settle()
        _refuse_absence(fake, event, attempted)
        _compare(event, before, snapshot())
    return PendingCheck(None)


async def _idempotent_async(fake: Checked, snapshot: Snapshot) -> None:
    await fake.settle()
    before = _copied(await _snapshot(snapshot))
    for event in _taken(fake):
        attempted = len(fake._engine.outbox.attempts)
        await fake.webhooks.redeliver(event)
        await fake.settle()
        _refuse_absence(fake, event, attempted)
        _compare(event, before, await _snapshot(snapshot))


def assert_order_independent(fake: Checked, snapshot: Snapshot) -> PendingCheck:
    """Expect that the snapshot is the same in every world of an exploration.

    What is queued and due is attempted before.

    Args:
        snapshot: As for :meth:`assert_idempotent`.

    Returns:
        Something to ``await`` in async mode.

    Raises:
        AssertionError: It is not the one of the world as written.
        ChatFakeError: The fake is not one of an exploration, or no event was attempted before.
        TypeError: It is no function.
    """
    _check_function(snapshot, "assert_order_independent()")
    kept = fake._kept
    if kept is None:
        raise ChatFakeError(
            "assert_order_independent() compares the worlds of an exploration, and this fake "
            "is in none: "
            "write it in a body of chat_explore, or use assert_idempotent()"
        )
    if _is_async(fake, "assert_order_independent()"):
        return PendingCheck(lambda: _order_free_async(fake, kept, snapshot).__await__())
    fake.settle()
    _refuse_silence(fake, kept)
    kept.compare(_copied(snapshot()))
    return PendingCheck(None)


async def _order_free_async(fake: Checked, kept: Kept, snapshot: Snapshot) -> None:
    await fake.settle()
    _refuse_silence(fake, kept)
    kept.compare(_copied(await _snapshot(snapshot)))


def _refuse_silence(fake: Checked, kept: Kept) -> None:
    """Refuse a comparison in which no app has had a say; in other worlds all may be lost."""
    if kept.learning and all(one.fault == "drop" for one in fake._engine.outbox.attempts):
        raise ChatFakeError(
            "assert_order_independent() has nothing to compare: no event was attempted at an app "
            "before. "
            "Connect your app inside the body, send something, and call it after that"
        )


def _is_async(fake: Checked, what: str) -> bool:
    """Whether an ``await`` is needed; a check that never gets one fails the test."""
    if fake._engine.mode == "async":
        fake._engine.step(what, lambda: iter(()))
        return True
    return False


def _check_function(snapshot: object, what: str) -> None:
    if not callable(snapshot):
        raise TypeError(
            f"{what} takes a function that returns what the app has made of its events, as in "
            f"lambda: app.spend(), not {cited(snapshot)}"
        )


async def _snapshot(snapshot: Snapshot) -> Any:
    value = snapshot()
    return await value if inspect.isawaitable(value) else value


def _copied(value: Any) -> Any:
    """Return a value as it is now: an app may give the very dict that it goes on changing."""
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaited it
        raise TypeError(
            "the snapshot is async def, which async mode awaits: write a plain function"
        )
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"the snapshot returned what can't be copied, {cited(value)}: return plain values, "
            f"such as a sum, a dict or a list of tuples"
        ) from error


def _taken(fake: Checked) -> Iterator[Event]:
    """Give the events that an endpoint has taken, in order, each once."""
    attempts = list(fake._engine.outbox.attempts)
    taken = dict.fromkeys(one.event for one in attempts if one.ok)
    if not taken and (fake._kept is None or fake._kept.learning):
        raise ChatFakeError(
            "assert_idempotent() has nothing to attempt again: no endpoint has taken an event. "
            "Connect your app, and send something before"
        )
    return iter(taken)


def _refuse_absence(fake: Checked, event: Event, attempted: int) -> None:
    """Refuse that an event did not come to the app again; an exploration may want that."""
    again = list(fake._engine.outbox.attempts)[attempted:]
    came = any(one.event == event and effect_of(one.fault).reaches_app for one in again)
    if not came and fake._kept is None:
        raise ChatFakeError(
            f"assert_idempotent() can't tell: {event._title} did not come to the app again. End "
            f"faults and pauses before, and leave the endpoint connected"
        )


def _compare(event: Event, before: Any, after: Any) -> None:
    if before != after:
        raise AssertionError(
            f"{event._title} came again, and changed the snapshot:\n"
            f"  before  {before!r}\n"
            f"  after   {after!r}"
        )
