"""Attempts that take too long: ended where that is possible, and never waited for without a word.

Over a socket an attempt ends by itself when its time is up. In process it may hang for ever. An
ASGI app and an async function are cancelled, and the attempt is recorded as over a socket. What
can't be ended (a WSGI app, a plain function, an app that survives its cancellation) is waited for,
and one line on the terminal says for what.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..base.terminal import say
from ..transport.client.answers import too_late
from ..transport.client.loops import GRACE_SECONDS
from .events import Event


class Posted(Protocol):
    """A request that is being made, or a round of them."""

    @property
    def event(self) -> Event:
        """What it is about."""
        ...

    @property
    def endpoint(self) -> Place:
        """Where it goes."""
        ...


class Place(Protocol):
    """An endpoint."""

    @property
    def label(self) -> str:
        """What a report calls it."""
        ...

    @property
    def _target(self) -> Endable: ...


class Endable(Protocol):
    """What an attempt at it can be ended through."""

    def end(self, request: Any, why: Exception) -> bool:
        """End it; return whether it ends now or soon."""
        ...


class Overdue:
    """The attempts of one fake, as the watch sees them.

    Args:
        limit: How many real seconds an attempt may take.

    Attributes:
        doing: The request that is being made; None: none.
        limit: The same as given.
    """

    def __init__(self, limit: float) -> None:
        self.doing: Posted | None = None
        self.limit = limit
        self._ending: Posted | None = None

    def overdue(self, doing: Posted) -> float | None:
        """End a request, or say that it is still waited for; called in the watch's thread."""
        endpoint, event = doing.endpoint, doing.event
        if self._ending is not doing:
            self._ending = doing
            if endpoint._target.end(doing, too_late(self.limit)):
                return GRACE_SECONDS
        if self.doing is doing:
            say(f"still waiting for {endpoint.label}: {event._subject}, caused at {event.line}")
        return None
