"""Handles attempts that take too long: ends them if possible, or names them on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.terminal import say
from ..transport.client.loops import GRACE_SECONDS
from ..transport.client.responses import timed_out
from .attempts import Post


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
        self.current: Sequence[Post] | None = None
        self.limit = limit
        self._late: Sequence[Post] | None = None
        self._endable: list[Post] = []
        self._is_ending = False

    def on_timeout(self, current: Sequence[Post]) -> float | None:
        """Note that attempts are late; cancel them at the second call; in the watchdog's thread.

        Returns:
            The real seconds until the next call; None: no further call.
        """
        running = [post for post in current if post.result is None]
        if self._late is not current:
            self._late, self._is_ending = current, False
            for post in running:
                post.is_late = post.target.response_so_far() is None
            self._endable = [post for post in running if post.target.disconnect(post.request)]
            blocked = [post for post in running if post not in self._endable]
            self._say(blocked, "webhook handler still running", self.limit)
            return self.limit if self._endable else None
        left = [post for post in self._endable if post in running]
        if self._is_ending:
            self._say(left, "webhook handler still running", 2 * self.limit)
            return None
        self._is_ending = True
        responded = [post for post in left if post.target.response_so_far() is not None]
        self._say(responded, "work after the response was cancelled", 2 * self.limit)
        for post in left:
            overdue = timed_out(self.limit, post.attempt.endpoint._stopped)
            post.target.cancel(post.request, overdue)
        return GRACE_SECONDS

    def _say(self, posts: Sequence[Post], what: str, seconds: float) -> None:
        for post in posts:
            event, where = post.attempt.event, post.attempt.endpoint.label
            say(f"{what} after {seconds:g} s: {where}, {event._full_name} (from {event.line})")
