"""The baseline: snapshots of the world as written, with which other worlds are compared."""

from __future__ import annotations

import threading
from collections import Counter
from decimal import Decimal
from typing import Any

from ..base.errors import ChatFakeError
from ..base.views import counted
from ..fake.inside import Inside
from ..fake.snapshots import COLLECTIONS, DICT, Snapshot, because


class Baseline:
    """Snapshots of a first world, with which later worlds are compared.

    Args:
        until: The step after which the scenario ends; 0: at its end.
        only_waits: Whether time moves as far in the first world as in the others, without
            deviations.

    Attributes:
        until, only_waits: As given.
        values: The snapshots of the first world.
        learning: Whether this world is the first one, whose snapshots are kept.
        compares: Whether this world's snapshots are compared.
        last_step: The number of steps in the first world's scenario.
        learns_steps: Whether the snapshots after each step are kept.
        steps: By step: which attempts had been made, and the snapshot.
        differs_after: The steps after which this world's snapshot differed.
    """

    def __init__(self, *, until: int = 0, only_waits: bool = False) -> None:
        self.until = until
        self.only_waits = only_waits
        self.values: list[Any] = []
        self._index = 0
        self._is_new = True
        self.learning: bool = True
        self.compares: bool = True
        self.last_step: int = 0
        self.learns_steps: bool = False
        self.steps: dict[int, tuple[dict[tuple[bytes, int], bool], Any]] = {}
        self.differs_after: list[int] = []
        self._threads = set(threading.enumerate())
        self._differing: tuple[BaseException | None, list[str]] = None, []

    def begin(self, *, compares: bool) -> None:
        """Begin a world."""
        self._index = 0
        self.learning, self._is_new = self._is_new, False
        self.compares = compares
        self.differs_after = []

    async def compare(self, snapshot: Snapshot, inside: Inside) -> None:
        """Take a snapshot; keep it while learning, else compare it with the one that was kept."""
        await inside.settle()
        # Later worlds may lose every event.
        if self.learning and not inside.has_attempted:
            raise ChatFakeError(
                "assert_order_independent() has nothing to compare: no event was posted to an app. "
                "Connect your app inside the body and send something first"
            )
        value = await inside.taken(snapshot)
        index, self._index = self._index, self._index + 1
        if self.learning:
            self.values.append(value)
        elif index >= len(self.values):
            raise AssertionError(
                f"assert_order_independent(): expected {counted(len(self.values), 'call')}, as in "
                f"the world as written, got {index + 1}: call it equally often in each world"
            )
        elif self.compares and value != self.values[index]:
            then = "otherwise" if self.only_waits else "as written"
            lines = inside.difference(self.values[index], value, then)
            if self.until:
                lines[0] = f"after step {self.until}: {lines[0]}"
            cause = "the snapshot depends on the order of events"
            error = AssertionError(because(cause, lines))
            self._differing = error, lines
            raise error

    async def look(self, step: int, snapshot: Snapshot, inside: Inside) -> None:
        """Take a snapshot between two steps, without a barrier, and keep it or compare it.

        Snapshots can only be compared if the same attempts ended in the same way as in the first
        world, or an event may still be on its way. They aren't compared if one of the app's threads
        may be busy, or if a message was delivered before its step.
        """
        if self.learning:
            self.last_step = step
        if self.learning or step >= self.last_step or self._has_threads() or not self.compares:
            return
        if inside.has_delivered_early:
            return
        ever = [*inside.endpoints]
        made = {(a.event.body, ever.index(a.endpoint)): a.ok for a in [*inside.attempts]}
        if self.learns_steps:
            self.steps[step] = made, await inside.taken(snapshot)
        elif step in self.steps:
            known, expected = self.steps[step]
            has_more = made.items() > known.items()
            if has_more or (made == known and await inside.taken(snapshot) != expected):
                self.differs_after.append(step)

    def _has_threads(self) -> bool:
        new = {*threading.enumerate()} - self._threads
        return not all(thread.name.startswith("chatfake") for thread in new)

    def differs_by(self, error: BaseException) -> bool:
        """Return whether this is the error which says that a snapshot differs."""
        return self._differing[0] is error

    def blame(self, error: BaseException, cause: str) -> None:
        """Name an error's cause, if the error says that a snapshot differs."""
        if self.differs_by(error):
            error.args = (because(cause, self._differing[1]),)


def without_texts(value: Any) -> object:
    """Return a snapshot with strings replaced by their type, so that ids don't matter."""
    if isinstance(value, DICT):
        return Counter(repr(without_texts(pair)) for pair in value.items())
    if isinstance(value, COLLECTIONS):
        return Counter(repr(without_texts(one)) for one in value)
    return value if isinstance(value, int | float | Decimal) else type(value).__name__
