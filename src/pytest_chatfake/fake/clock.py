"""The test's clock: it moves the time of the whole process, and nothing due is jumped over."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ..base.arguments import cited
from ..base.errors import ClockError
from ..domain.instants import aware, duration, instant, length_of, nanoseconds
from ..engine.engine import Engine
from ..engine.performer import PendingPlan


class Clock:
    """The clock of a test: the same time that the code under test sees.

    While time is moved, everything that falls due on the way happens at its own moment, one thing
    after another: process time stands at that moment while it happens and while its webhooks are
    attempted. Time only goes forward.

    Without the ``chat_clock`` fixture time runs on, until the first move freezes it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __repr__(self) -> str:
        return f"<Clock at {self.now.isoformat()}>"

    @property
    def now(self) -> datetime:
        """The present: aware, UTC, to the microsecond."""
        return instant(self._engine.time.read())

    @property
    def next_due(self) -> datetime | None:
        """When something happens next by itself (a drop, a retry, a delayed attempt), if at all.

        Raises:
            NotAwaited: Async mode: steps are pending.
        """
        self._engine.ensure_readable()
        due = self._engine.agenda.next_due()
        return None if due is None else instant(due)

    def advance(
        self, delta: timedelta | float | None = None, /, **timedelta_arguments: float
    ) -> PendingPlan:
        """Move time forward by a length of time.

        Args:
            delta: A ``timedelta`` or seconds.
            **timedelta_arguments: ``days=``, ``hours=``, ... as ``timedelta`` takes them.

        Returns:
            Something to ``await`` in async mode; nothing of interest in sync mode.

        Raises:
            TypeError: No length is given, or two, or something that is none.
            ValueError: The length is not finite.
            ClockError: The length is negative, or time can't be moved.
        """
        length = length_of("advance()", delta, timedelta_arguments)
        seconds: Any = length.total_seconds() if isinstance(length, timedelta) else length
        if isinstance(seconds, (int, float)) and seconds < 0:
            raise ClockError(f"time only goes forward: advance({cited(length)}) would turn it back")
        return self._engine.move_time(by=duration(length, "the length to advance by"))

    def move_to(self, moment: datetime | str) -> PendingPlan:
        """Move time forward to a moment.

        Args:
            moment: An aware ``datetime``, or ISO 8601 text with an offset or ``Z``.

        Returns:
            Something to ``await`` in async mode; nothing of interest in sync mode.

        Raises:
            TypeError: It is neither.
            ValueError: It has no time zone, or the text is not ISO 8601.
            ClockError: The moment has passed, or time can't be moved.
        """
        return self._engine.move_time(to=nanoseconds(aware(moment, "move_to()")))
