"""Counts the events that change a snapshot."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ..fake.details import was_made
from ..fake.inside import Inside
from ..fake.snapshots import Snapshot
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event

#: A snapshot that was not taken.
_UNKNOWN: Final = object()


class ChangeCount:
    """Counts the events that change a snapshot while the app handles them.

    It is a plugin that takes the snapshot before and after each attempt, without a barrier, so the
    same is tried as without it. It takes none in other threads, where the app may hold a lock.
    Once the snapshot has raised an error, or would have to be awaited, it takes no more.

    Args:
        inside: The fake.
        snapshot: Returns the app's state.

    Attributes:
        events: The events that changed the snapshot.
    """

    def __init__(self, inside: Inside, snapshot: Snapshot) -> None:
        self.events: set[Event] = set()
        self._inside = inside
        self._snapshot = snapshot
        self._thread = threading.get_ident()
        self._is_open = False
        self._is_possible = True
        self._is_exact = True  # whether only events that were looked at can have changed it
        self._last: object = _UNKNOWN

    def summary(self) -> str:
        """Say how many of the events changed the snapshot, as far as that is known."""
        attempts = self._inside.attempts
        events = {each.event for each in attempts if was_made(each)}
        if not (self.events or self._is_exact):
            return ""
        count = f"{len(self.events)} of {len(events)} events changed it"
        is_all = self.events >= events
        return count if self._is_exact or is_all else f"at least {count}"

    @contextmanager
    def pytest_chatfake_attempt(self, attempt: Attempt) -> Generator[None]:
        """Compare the snapshots before and after an attempt."""
        if attempt.endpoint not in self._inside.endpoints:
            yield
            return
        before, self._is_open = self._take(), True
        if _differ(self._last, before):
            self._is_exact = False  # the app acts by itself, perhaps late
        try:
            yield
        finally:
            self._is_open = False
        self._last = after = self._take()
        if _differ(before, after):
            self.events.add(attempt.event)
        elif before is _UNKNOWN or after is _UNKNOWN:
            self._is_exact = False

    def _take(self) -> object:
        if not self._is_possible or self._is_open or threading.get_ident() != self._thread:
            return _UNKNOWN
        try:
            return self._inside.taken_between(self._snapshot)
        except Exception:
            self._is_possible = False
            return _UNKNOWN


def _differ(before: object, after: object) -> bool:
    return before is not _UNKNOWN and after is not _UNKNOWN and before != after
