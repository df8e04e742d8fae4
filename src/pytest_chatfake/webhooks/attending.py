"""Who attends attempts: the seam by which an extra changes how a fake makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ..transport.client.responses import Response
from ..transport.client.targets import Target


class Attendant(Protocol):
    """Stands beside one attempt at an app in process, from before the app is called to its end.

    It may end the attempt, and await the app's code itself: see :data:`.cancellable.around`.

    Attributes:
        deed: What it has done to the app, after "the app"; empty: nothing.
        stopped: How it has stopped the app, as the service sees it: a connection that ended; None:
            it has not. A stopped app is made anew, if its endpoint has ``restart=``.
    """

    deed: str
    stopped: ConnectionResetError | None

    def begin(self, target: Target) -> None:
        """Attend the attempt that begins here; what this raises is how the attempt ends."""
        ...

    def outcome_of(self, outcome: Response | BaseException) -> Response | BaseException:
        """Return how the attempt has ended, in place of how it ended at the app."""
        ...

    def end(self) -> None:
        """Attend the attempt no more: undo what was begun, even if that was interrupted."""
        ...


#: Makes an attendant for each attempt.
Attend: TypeAlias = Callable[[], Attendant]
