"""Snapshots of an app's state: taken, and compared with others."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from ..base.arguments import cited, unexpected
from ..engine.engine import Engine
from ..webhooks.events import Event

#: Returns an app's state in a form that can be compared; it may be async.
Snapshot = Callable[[], Any]


class Baseline:
    """The snapshots of an exploration's first world, with which other worlds are compared."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._index = 0
        self.learning: bool = True

    def begin(self, *, learning: bool) -> None:
        """Begin a world; with ``learning``, its snapshots are kept."""
        self._index = 0
        self.learning = learning

    def compare(self, value: Any) -> None:
        """Keep a snapshot while learning; else compare it with the snapshot that was kept."""
        index, self._index = self._index, self._index + 1
        if self.learning:
            self._values.append(value)
        elif index >= len(self._values):
            raise AssertionError(
                f"assert_order_independent() was called {index + 1} times in this world, and "
                f"{len(self._values)} times in the one as written: call it as often in each"
            )
        elif value != self._values[index]:
            raise AssertionError(
                f"the snapshot depends on the order of events:\n"
                f"  in the world as written  {self._values[index]!r}\n"
                f"  in this world            {value!r}"
            )


def check_snapshot(snapshot: object) -> None:
    """Refuse a snapshot that is not a function."""
    if not callable(snapshot):
        expected = "a function that returns what the app has made of its events"
        raise TypeError(unexpected("snapshot", expected, snapshot))


async def taken(snapshot: Snapshot, engine: Engine) -> Any:
    """Return a copy of what a snapshot returns: an app may go on changing its dict."""
    value = snapshot()
    if engine.mode == "async" and inspect.isawaitable(value):
        value = await value
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaited it
        raise TypeError(
            "snapshot: expected a plain function: write `def`, not `async def`, in sync mode"
        )
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"snapshot: expected plain values, such as a sum or a list of tuples, got what can't "
            f"be copied: {cited(value)}"
        ) from error


def expect_unchanged(event: Event, before: Any, after: Any) -> None:
    """Raise an AssertionError if the repeated event has changed the snapshot."""
    if before != after:
        raise AssertionError(
            f"{event._title} came again, and changed the snapshot:\n"
            f"  before  {before!r}\n"
            f"  after   {after!r}"
        )
