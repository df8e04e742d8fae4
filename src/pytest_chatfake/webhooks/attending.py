"""Attendants: how an extra takes part in the attempts of a fake, and changes how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ..transport.client.responses import Response
from ..transport.client.targets import Target


class Attendant(Protocol):
    """Accompanies one attempt at an app in process, from before the app is called to its end.

    It can end the attempt, and it can await the app's code itself: see :data:`.cancellable.around`.

    Attributes:
        deed: What it did to the app, in words that follow "the app"; empty for nothing.
        stopped: If it stopped the app, the error that the service sees: a connection that ended.
            The app is made anew then, if its endpoint has ``restart=``.
    """

    deed: str
    stopped: ConnectionResetError | None

    def begin(self, target: Target) -> None:
        """Begin; if this raises, the attempt ends with that error."""
        ...

    def outcome_of(self, outcome: Response | BaseException) -> Response | BaseException:
        """Return how the attempt ends, given how it ended at the app."""
        ...

    def end(self) -> None:
        """Undo whatever ``begin`` did, even if that was interrupted."""
        ...


#: Makes an attendant for each attempt.
Attend: TypeAlias = Callable[[], Attendant]
