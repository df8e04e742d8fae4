"""The test's clock: it moves the time of the whole process from one due event to the next."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import add

from ..base.arguments import check_function, cited, unexpected
from ..base.errors import ClockError
from ..domain.instants import (
    aware,
    instant,
    length_of,
    nanoseconds,
    parse_delay,
    parse_offset,
    stamp,
)
from ..engine.engine import Engine
from ..engine.performer import Pending
from .agenda import AgendaEntry, agenda
from .edges import Edge, moment_of
from .handles import Message, state_of


class Clock:
    """The test's clock: it moves time for the fake and for the code under test.

    Example::

        chat_fake.send_text("Hello").after(60).deliver().after(minutes=10).read()
        chat_fake.clock.advance(hours=1)

    While the clock moves, everything that is due happens in order: time stops at each due moment
    until the webhooks are posted. Time only moves forward.

    Without the ``chat_clock`` fixture, real time runs until the first move freezes it. In async
    mode, ``await`` each move. While steps are pending, :attr:`agenda` and :attr:`next_due` raise
    ``NotAwaited``.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __repr__(self) -> str:
        return f"<Clock at {self.now.isoformat()}>"

    @property
    def now(self) -> datetime:
        """The current time: aware, UTC, to the microsecond."""
        return instant(self._engine.time.read())

    def stamp(self) -> str:
        """Return the current time as the service writes it: ``2026-01-01T12:00:00.000Z`` (§2.2)."""
        return stamp(self._engine.time.read())

    @property
    def next_due(self) -> datetime | None:
        """When the next step, drop, retry or delayed attempt is due; None if there is none."""
        self._engine.ensure_readable()
        due = self._engine.due_runner.next_due()
        return None if due is None else instant(due)

    def advance(
        self, delta: timedelta | float | None = None, /, **timedelta_arguments: float
    ) -> Pending[None]:
        """Move time forward: ``advance(90)``, or ``advance(days=30)``.

        Args:
            delta: A ``timedelta`` or seconds.
            **timedelta_arguments: ``days=``, ``hours=`` and so on, as for ``timedelta``.

        Raises:
            TypeError: No duration is given, or both ``delta`` and keyword arguments.
            ValueError: The duration is not finite.
            ClockError: The duration is negative, or time can't be moved.
        """
        length = length_of("advance()", delta, timedelta_arguments)
        by = parse_offset(length, "advance()")
        if by < 0:
            raise ClockError(f"time only goes forward: advance({cited(length)}) would move it back")
        return self._engine.move_time(partial(add, by), "advance()")

    def sleep(self, seconds: float) -> Pending[None]:
        """Move time forward by some seconds, as a replacement for the app's own sleep.

        If your app backs off between retries, replace its ``time.sleep`` with this method or, if
        its code is async, its ``asyncio.sleep``. The test then doesn't wait in real time, and
        everything that is due in the meantime happens.

        Args:
            seconds: At least 0.

        Raises:
            ValueError: The number is negative or not finite.
            ClockError: Time can't be moved.
        """
        by = parse_delay(seconds, "seconds")
        return self._engine.sleep(partial(add, by))

    def move_to(self, moment: datetime | str) -> Pending[None]:
        """Move time forward to a moment.

        Args:
            moment: An aware ``datetime``, or an ISO 8601 string with an offset or ``Z``.

        Raises:
            ValueError: The moment has no time zone, or the string is not ISO 8601.
            ClockError: The moment is in the past, or time can't be moved.
        """
        to = nanoseconds(aware(moment, "move_to()"))
        return self._engine.move_time(lambda _: to, "move_to()")

    # Due events

    @property
    def agenda(self) -> Sequence[AgendaEntry]:
        """Everything that is scheduled, in order.

        The agenda leaves out what can't happen for now because of a person or an endpoint: an
        autopilot's delivery to a phone that is off, or a retry at a disconnected endpoint.

        It also lists when open conversations expire. Nothing happens at those moments, so
        :attr:`next_due` and :meth:`advance_to_next` skip them.
        """
        self._engine.ensure_readable()
        return agenda(self._engine)

    def advance_to_next(self) -> Pending[None]:
        """Move time forward to the next due moment, and run what is due.

        Raises:
            ClockError: Nothing is scheduled, or time can't be moved.
        """
        return self._engine.move_time(self._engine.due_runner.next_after, "advance_to_next()")

    def advance_to(self, edge: Edge, message: Message) -> Pending[None]:
        """Move time to a message's drop or the end of its session, exactly or 1 ms before or after.

        Args:
            edge: One of :func:`~pytest_chatfake.edges`.
            message: The message whose session ends (§8) or that is dropped (§3 rule 5).

        Raises:
            ValueError: The message belongs to another fake.
            ClosedError: The message was sent before the fake was reset.
            ClockError: The session has not started, the message is not waiting to be dropped, the
                moment is in the past, or time can't be moved.
        """
        if not isinstance(edge, Edge):
            raise TypeError(
                f"{unexpected('edge', 'an Edge', edge)}. edges('session') returns three: 1 ms "
                f"before, at, and 1 ms after the end of the session"
            )
        state = state_of(message, self._engine)

        def target_of(_: int) -> int:
            rules = self._engine.settings.rules
            return moment_of(edge, state, rules.drop_after)

        return self._engine.move_time(target_of, "advance_to()")

    def run_until(
        self, predicate: Callable[[], object], *, limit: timedelta | float
    ) -> Pending[None]:
        """Move time forward, from one due moment to the next, until a predicate is true.

        Args:
            predicate: A function without arguments, such as ``lambda: message.dropped``. It is
                called before time moves, after each due moment, and at the limit, and must not
                change anything.
            limit: How far to move time at most: a ``timedelta`` or seconds.

        Raises:
            TypeError: The predicate is a coroutine function, or returned a coroutine.
            ValueError: The limit is negative or not finite.
            ClockError: The predicate is still false at the limit, or time can't be moved.
        """
        check_function(predicate, "predicate", "lambda: message.dropped")

        def look() -> bool:
            found = predicate()
            if isinstance(found, Coroutine):
                found.close()  # or Python warns that it was never awaited
                raise TypeError(
                    "predicate: expected a plain function, got one that returns a coroutine"
                )
            return bool(found)

        return self._engine.run_until(look, parse_delay(limit, "limit"), "run_until()")
