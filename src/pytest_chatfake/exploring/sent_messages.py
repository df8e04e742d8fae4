"""Compares what an app has sent in a world with what it sent in the world as written.

The app's own books, its snapshot, may hide that it sent a message twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from .baseline import Comparison, Content, has_background
from .books import Books
from .scene import Scene
from .sending import ROUNDS

#: Tests in whose worlds a right app sends no message more often than as written.
_SEND_ONCE: Final = frozenset(
    {
        "test_duplicates",
        "test_duplicates_under_another_id",
        "test_duplicates_at_once",
        "test_webhooks_before_the_response",
    }
)

#: The same if the app can know whether a call took effect.
_SEND_ONCE_IF_CLEAR: Final = frozenset({"test_a_crash", "test_an_error"})

_NOT_COUNTED: Final = (
    "sent messages were not counted, because your app can't know after a crash or an error whether "
    "a call took effect; pass send_endpoint(idempotency_header=)"
)

#: Real seconds for work in the background, in each round in which a message is missing.
_PAUSE: Final = 0.05


class SentMessages:
    """Counts the messages of a test's worlds, if a right app sends the same ones in each.

    Args:
        test: The test's name.
        note: Lets the card say why they aren't counted.
    """

    def __init__(self, test: str, note: Callable[[str], None]) -> None:
        self._counts = test in _SEND_ONCE
        self._may_come_late = test in _SEND_ONCE_IF_CLEAR
        self._note = note

    def _are_compared(self, world: Comparison) -> bool:
        return self._counts and world.compares and not (world.learning or world.baseline.until)

    async def await_late(self, scene: Scene) -> Books | None:
        """Await what a crash or an error has left to a worker, so that the snapshot shows it.

        Returns:
            The books by then; None if nothing has to be awaited.
        """
        if not (self._may_come_late and self._are_compared(scene.comparison)):
            return None
        return await await_books(scene, scene.comparison.baseline.messages)

    def check(self, scene: Scene, books: Books) -> None:
        """Compare the messages of a world with those of the first world, or learn these."""
        comparison = scene.comparison
        baseline = comparison.baseline
        if comparison.learning:
            baseline.messages = books.sent
            if self._may_come_late:
                self._counts = books.can_deduplicate
                if books.is_sent_by_app and not self._counts:
                    self._note(_NOT_COUNTED)
        elif self._are_compared(comparison):
            lines = [*books.repeats(baseline.messages)]
            if self._may_come_late:
                lines += books.missing(baseline.messages)
            scene.require_none(lines, baseline.messages, "other messages were sent")


async def await_books(scene: Scene, sent: Counter[Content]) -> Books:
    """Return the books once a worker, such as one in the snapshot, has sent what is missing."""
    await scene.take_and_settle()
    first = books = scene.books
    for _ in range(ROUNDS):
        if not [*books.missing(sent)]:
            break
        await scene.inside.pause(_PAUSE * has_background(scene.inside))
        await scene.inside.performed(scene.fake.clock.advance(hours=1))
        await scene.take_and_settle()
        books = scene.books
    return books.without_later(first, sent)
