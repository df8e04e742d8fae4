"""Ends an async body that waits for what never comes, such as a queue whose worker has died."""

from __future__ import annotations

from collections.abc import Coroutine, Sized
from typing import Any

from ..transport.client.cancellable import Cancellable, CancelledExternally
from ..transport.client.watchdog import watchdog
from .stepping import waiting_lines

#: Real seconds, longer than any attempt takes.
LIMIT = 120.0


class Patience:
    """Awaits a body as long as something happens now and then.

    Args:
        body: The body's coroutine.
        history: What has happened so far.

    Attributes:
        limit: After so many real seconds in which nothing has happened, the body is cancelled.
    """

    def __init__(self, body: Coroutine[Any, Any, object], history: Sized) -> None:
        self.limit = LIMIT
        self._body = body
        self._history = history
        self._known: tuple[int, object] = 0, object()
        self._cancellable = Cancellable()

    @property
    def current(self) -> object:
        """The same object as long as nothing happens."""
        count = len(self._history)
        if count != self._known[0]:
            self._known = count, object()
        return self._known[1]

    def on_timeout(self, current: object) -> None:  # noqa: ARG002 - nothing else is awaited
        """Cancel the body; called by the watchdog."""
        lines = waiting_lines(self._body)
        where = f" at {lines[-1]}" * bool(lines)
        why = f"it waited{where}, but nothing happened for {self.limit:g} s of real time"
        self._cancellable.cancel(self, TimeoutError(why))

    async def run(self) -> None:
        """Await the body.

        Raises:
            AssertionError: It was cancelled.
        """
        watchdog.add(self)
        try:
            await self._cancellable.run(self, self._body)
        except CancelledExternally as late:
            raise AssertionError(str(late.why)) from None
        finally:
            watchdog.remove(self)
