"""What all worlds of an exploration have in common: how each one begins, and what took time."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from time import monotonic_ns
from typing import Final

from ..base.errors import ClosedError
from ..domain.ids import derived_key
from ..engine.process_time import Travel
from ..fake.config import ChatFakeConfig
from ..fake.fake import opened
from ..fake.inside import Inside
from ..webhooks.events import Event
from .meetings import Limits, Point
from .search import CheckedOptions
from .undoing import changes, undo_since

#: Shared by all explorations in the process, because two may have the same seed.
_numbers: Final = itertools.count(1)


class Environment:
    """The start of every world: a configuration, a moment, the state of ``random``.

    The configuration has a seed, so that ids are the same in every world. Worlds begin at
    ``start``, unless time is already frozen.

    Attributes:
        config, scope: As given.
        ends: How meetings ended, by point.
        limits: How long attempts are held for other ones at most.
        spent: Nanoseconds of real time, by what took them.
    """

    def __init__(self, config: ChatFakeConfig, start: datetime, scope: CheckedOptions) -> None:
        self.config = config
        self.scope = scope
        self.spent: Counter[str] = Counter()
        self._busy_with, self._since = "", monotonic_ns()
        self.ends: dict[Point, set[str]] = {}
        self.limits: Limits = Limits()
        self._start = start
        self._is_open = False
        self._random = random.getstate()
        self._items: dict[tuple[bytes, int], int] = {}
        self._travel = Travel()
        self._opened = {*opened}  # in case an interrupt comes before freeze() has noted them
        self._changes = changes()

    def freeze(self) -> None:
        """Freeze the clocks of the process; each world then moves them itself."""
        self._opened = {*opened}  # before the first world
        self._is_open = True
        self._travel.begin_on_top(self._start)

    def restore(self) -> None:
        """Give the process back its clocks and ``random``, however the exploration ended.

        A second call is a no-op, because an interrupted loop may resume the call in a later test.
        """
        if not self._is_open:
            return
        with ExitStack() as stack:  # each step, even if one fails
            stack.callback(undo_since, self._changes)
            stack.callback(self._travel.end)
            stack.callback(random.setstate, self._random)
            # An interrupt leaves a world's fake open, and a body may leave its own fakes open.
            for fake in {*opened} - self._opened:
                stack.callback(Inside(fake).shut)
        self._is_open = False

    def begin_world(self) -> None:
        """Reset time and ``random`` to where every world begins."""
        if not self._is_open:
            raise ClosedError("the exploration has ended: its test was interrupted")
        self._travel.begin_again()
        random.setstate(self._random)

    def new_key(self) -> str:
        """Return the configuration's key or, without one, a key that only this world has.

        With its own key, a thread of the app that outlives its world can't reach another one. The
        key's last characters, which are shown, never vary.
        """
        seed = f"{self.config.seed} explored"
        shown = derived_key(seed)[-4:]
        own = derived_key(f"{seed} {next(_numbers)}")
        return self.config.api_key or own[: -len(shown)] + shown

    def note(self, what: str) -> None:
        """Note what takes time from now on."""
        now = monotonic_ns()
        self.spent[self._busy_with] += now - self._since
        self._busy_with, self._since = what, now

    def item(self, event: Event, endpoint: int) -> int:
        """Return the number of an event at an endpoint, which is the same in every world."""
        return self._items.setdefault((event.body, endpoint), len(self._items) + 1)
