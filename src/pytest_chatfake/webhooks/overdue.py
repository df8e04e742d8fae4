"""Handles attempts that take too long: ends them if possible, or names them on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.terminal import say
from ..transport.client.loops import GRACE_SECONDS
from ..transport.client.responses import timed_out
from .attempts import Attempt


class Overdue:
    """Ends or names attempts that take too long, on behalf of the watchdog.

    When the time is up, an attempt over a socket is ended by shutting down the connection. An
    in-process attempt counts as late from then on, whatever happens: an ASGI app gets
    ``http.disconnect``, and awaited code is cancelled if it takes the same time again; if it had
    responded, a line on the terminal says so, because nothing else shows it. An attempt that can't
    be ended (a WSGI app, a plain function, an app that ignores its cancellation) is waited for, and
    a line on the terminal names it.

    Args:
        limit: How many real seconds an attempt may take.

    Attributes:
        current: The attempts that are being made, if any.
        limit: As given.
    """

    def __init__(self, limit: float) -> None:
        self.current: list[Attempt] | None = None
        self.limit = limit
        self._late: list[Attempt] | None = None
        self._endable: list[Attempt] = []
        self._is_ending = False

    def on_timeout(self, current: list[Attempt]) -> float | None:
        """Note that attempts are late; cancel them at the second call; in the watchdog's thread.

        Returns:
            The real seconds until the next call; None: no further call.
        """
        flights = [(attempt, attempt._flight) for attempt in current]
        running = {attempt: flight for attempt, flight in flights if flight.outcome is None}
        if self._late is not current:
            self._late, self._is_ending = current, False
            for flight in running.values():
                flight.is_late = flight.target.response_so_far() is None
            self._endable = [
                attempt
                for attempt, flight in running.items()
                if flight.target.disconnect(flight.request)
            ]
            blocked = [attempt for attempt in running if attempt not in self._endable]
            self._say(blocked, "webhook handler still running", self.limit)
            return self.limit if self._endable else None
        left = [attempt for attempt in self._endable if attempt in running]
        if self._is_ending:
            self._say(left, "webhook handler still running", 2 * self.limit)
            return None
        self._is_ending = True
        responded = [each for each in left if running[each].target.response_so_far() is not None]
        self._say(responded, "work after the response was cancelled", 2 * self.limit)
        for attempt in left:
            flight, overdue = running[attempt], timed_out(self.limit, attempt.endpoint._stopped)
            flight.target.cancel(flight.request, overdue)
        return GRACE_SECONDS

    def _say(self, attempts: Sequence[Attempt], what: str, seconds: float) -> None:
        for attempt in attempts:
            event, where = attempt.event, attempt.endpoint.label
            say(f"{what} after {seconds:g} s: {where}, {event._full_name} (from {event.line})")
