"""Attendants: with them, an extra takes part in a fake's attempts and changes how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ..transport.client.responses import Response
from ..transport.client.targets import Target


class Attendant(Protocol):
    """Accompanies one attempt at an in-process app, from before the app is called to the end.

    It can end the attempt, and it can await or call the app's code itself: see
    :data:`.cancellable.around` and :data:`.wsgi.around_call`.

    Attributes:
        effect: What it did to the app, in words that follow "the app"; empty if nothing.
        stopped: If it stopped the app, the error that the service sees, as of a closed connection.
            With ``restart=``, the endpoint then recreates the app.
    """

    effect: str
    stopped: ConnectionResetError | None

    def begin(self, target: Target) -> None:
        """Begin; if this raises, the attempt ends with that error."""
        ...

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        """Return the result of the attempt, given its result at the app."""
        ...

    def end(self) -> None:
        """Undo what ``begin`` did, even if ``begin`` was interrupted."""
        ...


#: Makes an attendant for each attempt.
Attend: TypeAlias = Callable[[], Attendant]
