"""Attempts, and the log that keeps them in columns, as events are kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ..base.controls import one_line
from ..base.marks import Mark
from ..base.redaction import redacted
from ..base.tracebacks import text_of
from ..domain.instants import instant
from ..transport.client.responses import Response
from .dispatch import Dispatch, Overrides
from .endpoints import Endpoint
from .events import Event, EventLog


class Result(NamedTuple):
    """How an attempt was made, and its response; many attempts share one object."""

    endpoint: Endpoint
    number: int
    overrides: Overrides
    answer: Response


class AttemptLog:
    """Every attempt of a fake, in the order in which they were made.

    Attributes:
        events: The events that they are about.
        surfaced: The place of each whose error came back in the test.
        seen: How many of them the test has read.
    """

    def __init__(self, events: EventLog) -> None:
        self.events = events
        self.surfaced: set[int] = set()
        self.seen = 0
        self._events = array("Q")
        self._results: list[Result] = []
        self._moments: list[int] = []  # where time stands still, all share one integer
        self._last: dict[Endpoint, Result] = {}

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, index: int) -> Attempt:
        return Attempt(self, range(len(self))[index])

    def __iter__(self) -> Iterator[Attempt]:
        return (Attempt(self, index) for index in range(len(self)))

    def add(
        self, dispatch: Dispatch, endpoint: Endpoint, answer: Response, moment: int
    ) -> int | None:
        """Add an attempt and return its place; None for an event of before a reset.

        The fake's lock is held: a thread may record a loss while another one attempts.
        """
        event = dispatch.event
        if event._log is not self.events:
            return None
        result = self._last.get(endpoint)
        found = (endpoint, dispatch.number, dispatch.overrides, answer)
        # An app's errors are never compared.
        if result is None or answer.error is not None or result != found:
            result = self._last[endpoint] = Result(*found)
        self._events.append(event._index)
        self._results.append(result)
        self._moments.append(moment)
        return len(self._moments) - 1

    def failed(self, start: int) -> list[int]:
        """Return the places of those that failed, from ``start`` on."""
        results = self._results
        return [place for place in range(start, len(self)) if not is_success(results[place].answer)]


def is_success(answer: Response) -> bool:
    """Return whether the endpoint accepted the event, with a status from 200 to 299."""
    return answer.status is not None and 200 <= answer.status <= 299


class Attempt:
    """One attempt to deliver an event to an endpoint, and how it ended."""

    __slots__ = ("_index", "_log")

    def __init__(self, log: AttemptLog, index: int) -> None:
        self._log = log
        self._index = index

    def __repr__(self) -> str:
        event = f"{self.event.id}, {self.event._subject}"
        return one_line(f"<Attempt {self.number} at {event}, {self._end}>")

    @property
    def _end(self) -> str:
        """Where it went and how that ended, in a text that has one line and no secret."""
        return redacted(f"at {self.endpoint.label}: {' '.join(self.outcome.split())}")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Attempt) and self._log is other._log and self._index == other._index
        )

    def __hash__(self) -> int:
        return hash(self._index)

    @property
    def _result(self) -> Result:
        return self._log._results[self._index]

    @property
    def event(self) -> Event:
        """The event."""
        return Event(self._log.events, self._log._events[self._index])

    @property
    def number(self) -> int:
        """1 for the first attempt, 2 for the first retry."""
        return self._result.number

    @property
    def endpoint(self) -> Endpoint:
        """Where it went."""
        return self._result.endpoint

    @property
    def fault(self) -> str | None:
        """The kind of the last fault that shaped it; None without.

        ``"duplicate"``, ``"drop"``, ``"delay"``, ``"tamper"``, ``"sign"``, ``"reorder"``,
        ``"lose_response"``, ``"refuse"``, ``"crash"``, ``"concurrently"`` or ``"evolve"``; or
        ``"forgery"``, if ``assert_rejects_forgeries()`` made it; or ``"drop"``, too, if its
        endpoint was disabled.
        """
        return self._result.overrides.fault

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What faults did to it, and the lines that set them up."""
        return self._result.overrides.marks

    @property
    def moment(self) -> int:
        """When it was made, in nanoseconds since the epoch."""
        return self._log._moments[self._index]

    @property
    def at(self) -> datetime:
        """The same: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def status_code(self) -> int | None:
        """The status of the response; None if no response came."""
        return self._result.answer.status

    @property
    def late(self) -> int | None:
        """The status of a response that came after ``timeout``; None without, and over a socket."""
        return self._result.answer.late

    @property
    def body(self) -> bytes:
        """The response's body; empty without one."""
        return self._result.answer.body

    @property
    def error(self) -> BaseException | None:
        """The error, if no response came or an app in process raised one."""
        return self._result.answer.error

    @property
    def ok(self) -> bool:
        """Whether the endpoint accepted the event, with a status from 200 to 299."""
        return is_success(self._result.answer)

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if self.fault == "drop":
            return "not attempted"
        status = f"status {self.status_code}"
        if self.error is None:
            return status
        if self.fault == "crash":
            return f"{status}, then " * (self.status_code is not None) + text_of(self.error)
        late = f", then status {self.late}" if self.late is not None else ""
        return f"{type(self.error).__name__}: {text_of(self.error)}".rstrip(": ") + late
