"""Refuses an app that remembers an earlier world: it would hide bugs, and blame the wrong event."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import pytest

from ..base.arguments import cited
from ..base.errors import ChatFakeError
from ..fake.snapshots import SnapshotError
from .exploration import shared_folder
from .late_threads import Work, about_late
from .scene import Scene

#: A snapshot that was not taken yet.
_UNKNOWN: Final = object()


class NewApps:
    """Compares the app that ``connect()`` makes in each world with that of the first world.

    Args:
        item: The test.

    Attributes:
        before: The snapshot after ``connect()``, in the first world.
    """

    def __init__(self, item: pytest.Item) -> None:
        self.before: Any = _UNKNOWN
        self._item = item
        self._threads: list[Work] = []  # of earlier worlds

    async def require(self, scene: Scene) -> None:
        """Fail if the app isn't as new as in the first world."""
        if scene.snapshot is None:
            return
        value = await scene.inside.taken(scene.snapshot)
        self._threads += scene.seen.earlier_threads
        if self.before is _UNKNOWN:
            self.before = value
        elif not len(scene.fake.events) and self.before != value:  # connect() may send something
            self._refuse(cited(self.before), cited(value))

    def _refuse(self, was: str, now: str) -> NoReturn:
        if was == now:
            raise SnapshotError(
                f"snapshot: expected values that are equal in each world, got {now}, which can't "
                f"be compared by value; return plain data"
            )
        if late := about_late(self._threads, "the clean-up in connect()"):
            raise ChatFakeError(
                f"{late}. In one world, the snapshot was {was} after connect(), and in another, "
                f"{now}"
            )
        raise ChatFakeError(
            f"connect(): expected a new app in each world, got one that remembers an earlier "
            f"world; the snapshot was {was} at first, and is {now} now. Create the app inside "
            f"connect(), and empty its database there{shared_folder(self._item)}"
        )
