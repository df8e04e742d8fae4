"""Attempts to post an event to an endpoint, as records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..base.escaping import one_line
from ..base.history import Record
from ..base.marks import Mark
from ..base.redaction import redacted
from ..base.tracebacks import text_of
from ..domain.instants import instant
from ..domain.messages import MessageState
from ..transport.client.responses import Response
from .endpoints import Endpoint, WebhookRequest
from .events import Event
from .fault_kinds import NOT_ATTEMPTED
from .logged_errors import LoggedError

_NO_RESPONSE: Final = Response(None)


@dataclass(slots=True, eq=False, repr=False)
class Attempt(Record):
    """One attempt to deliver an event to an endpoint, and how it ended.

    Attributes:
        event: The event.
        endpoint: Where it went.
        number: 1 for the first attempt, 2 for the first retry.
        moment: When it was made, in nanoseconds since the epoch.
        fault: The kind of the last fault that shaped it; None without. It is ``"duplicate"``,
            ``"drop"``, ``"delay"``, ``"tamper"``, ``"sign"``, ``"reorder"``, ``"lose_response"``,
            ``"refuse"``, ``"crash"``, ``"error"``, ``"concurrently"`` or ``"evolve"``; or
            ``"forgery"``, if ``assert_rejects_forgeries()`` made it; or ``"disable_after"``,
            if its endpoint was disabled.
    """

    event: Final[Event]
    endpoint: Final[Endpoint]
    number: Final[int]
    moment: int
    fault: str | None = None
    _marks: tuple[Mark, ...] = ()
    _response: Response = _NO_RESPONSE
    _ended: bool = False
    _surfaced: bool = False  # whether its error came back in the test
    _unverified: WebhookRequest | None = None  # what was signed, if it got a 401 or 403
    _logged: LoggedError | None = None  # what the app logged before its response of 500 or more
    _got_through: bool = False  # whether it is a forgery that the app did not refuse

    def __repr__(self) -> str:
        event = f"{self.event.id}, {self.event._subject}"
        return one_line(f"<Attempt {self.number} at {event}, {self._end}>")

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What faults did to it, and the lines that set them up."""
        return self._marks

    @property
    def at(self) -> datetime:
        """When it was made: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def status_code(self) -> int | None:
        """The status of the response; None if no response came."""
        return self._response.status

    @property
    def late(self) -> int | None:
        """The status of a response that came after ``timeout``; None without, and over a socket."""
        return self._response.late

    @property
    def body(self) -> bytes:
        """The response's body; empty without one."""
        return self._response.body

    @property
    def error(self) -> BaseException | None:
        """The error, if no response came or an app in process raised one."""
        return self._response.error

    @property
    def ok(self) -> bool:
        """Whether the endpoint accepted the event, with a status from 200 to 299."""
        return self._response.is_success

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if not self._was_made:
            return "not attempted"
        status = f"status {self.status_code}"
        if self.error is None:
            return status
        if self.fault == "crash":
            return f"{status}, then " * (self.status_code is not None) + text_of(self.error)
        late = f", then status {self.late}" if self.late is not None else ""
        return f"{type(self.error).__name__}: {text_of(self.error)}".rstrip(": ") + late

    @property
    def _was_made(self) -> bool:
        return self.fault not in NOT_ATTEMPTED

    @property
    def _message(self) -> MessageState | None:
        return self.event._message

    @property
    def _end(self) -> str:
        """Where it went and how that ended, in a text that has one line and no secret."""
        return redacted(f"at {self.endpoint.label}: {' '.join(self.outcome.split())}")
