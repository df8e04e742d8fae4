"""Attempts that take too long: who is told, and which of them are ended."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.terminal import say
from ..transport.client.loops import GRACE_SECONDS
from ..transport.client.responses import timed_out
from .attempts import Attempt


class Overdue:
    """Attempts that take too long, as the watchdog sees them.

    Over a socket an attempt ends when its time is up: the connection is shut down under it. In
    process it is late from then on, whatever comes of it: an ASGI app gets ``http.disconnect``, and
    what can be awaited has as long again before it is cancelled. What can't be ended (a WSGI app, a
    plain function, an app that survives its cancellation) is waited for, and one line on the
    terminal names it.

    Attributes:
        current: The attempts that are being made; None: none.
        limit: As given.
    """

    def __init__(self, limit: float) -> None:
        self.current: list[Attempt] | None = None
        self.limit = limit
        self._late: list[Attempt] | None = None
        self._endable: list[Attempt] = []
        self._is_ending = False

    def on_timeout(self, current: list[Attempt]) -> float | None:
        """Note that attempts are late; at the second call, end them; in the watchdog's thread.

        Returns:
            After how many real seconds to call it again; None: never.
        """
        running = [attempt for attempt in current if attempt._outcome is None]
        if self._late is not current:
            self._late, self._is_ending = current, False
            for attempt in running:
                attempt._is_late = attempt._target.response_so_far() is None
            endable = [one for one in running if one._target.disconnect(one._request)]
            self._endable = endable
            self._say([attempt for attempt in running if attempt not in endable], self.limit)
            return self.limit if self._endable else None
        left = [attempt for attempt in self._endable if attempt in running]
        if self._is_ending:
            self._say(left, 2 * self.limit)
            return None
        self._is_ending = True
        for attempt in left:
            overdue = timed_out(self.limit, attempt.endpoint._stopped)
            attempt._target.cancel(attempt._request, overdue)
        return GRACE_SECONDS

    def _say(self, attempts: Sequence[Attempt], seconds: float) -> None:
        for attempt in attempts:
            event, where = attempt.event, attempt.endpoint.label
            say(
                f"webhook handler still running after {seconds:g} s: {where}, {event._full_name} "
                f"(from {event.line})"
            )
