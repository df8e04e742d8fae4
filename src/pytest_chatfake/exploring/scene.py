"""A scene: a world's fake with an app connected to it, as ready-made tests see it."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..fake.snapshots import Snapshot
from .baseline import Comparison, Content, Difference
from .books import Books
from .world_observer import WorldObserver, observer_of

#: How often a snapshot is taken again at most, because it has sent something.
_ROUNDS: Final = 20


class Scene:
    """A world's fake, with the app that ``connect()`` has connected to it.

    Attributes:
        fake: The fake.
        inside: The fake as an extra sees it.
        snapshot: Returns the app's state; None: ``connect()`` returned none.
    """

    def __init__(self, fake: ChatFake, snapshot: Snapshot | None) -> None:
        self.fake = fake
        self.inside: Inside = Inside(fake)
        self.snapshot = snapshot

    @property
    def seen(self) -> WorldObserver:
        """What happened in the world."""
        return observer_of(self.inside)

    @property
    def comparison(self) -> Comparison:
        """What compares the world's snapshots."""
        return self.seen.comparison

    @property
    def books(self) -> Books:
        """What was sent by now."""
        return Books.of(self.inside)

    @property
    def app_sends(self) -> bool:
        """Whether an API call has sent a message."""
        return any(map(self.inside.send_call_of, self.inside.account.messages))

    def require_none(self, lines: list[str], sent: Counter[Content], cause: str) -> None:
        """Fail with these lines, if there are any.

        Args:
            lines: Say how messages differ.
            sent: What should have been sent.
            cause: Why it may not have been.
        """
        self.comparison.require_none(Difference(lines, "messages", messages=sent), cause)

    async def settle_with_retries(self) -> None:
        """Settle until all retries were made: an app may accept what it refused at first."""
        await self.inside.settle()
        while any(due.kind == "retry" for due in self.fake.clock.agenda):
            await self.inside.performed(self.fake.clock.advance_to_next())

    async def take_and_settle(self) -> None:
        """Take the snapshot, which may send, and let the app handle the events of that."""
        for _ in range(_ROUNDS):
            known = len(self.inside.account.messages)
            if self.snapshot is not None:
                await self.inside.taken(self.snapshot)
            await self.inside.settle()
            if len(self.inside.account.messages) == known:
                break
