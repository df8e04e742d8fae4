"""Attempts: one event on its way to one endpoint, and how that ended.

An :class:`Attempt` is made when its event is emitted, and stays the same object until the test
reads how it ended. It is *queued*, or a block, a fault or the schedule delays it. It *begins* when
the drain takes it from the queue, and is an entry of the history from then on. It has *ended* when
its response is known. What comes after it, a retry or the repeat of a fault, is another attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, cast

from ..base.escaping import one_line
from ..base.history import Record
from ..base.marks import Mark
from ..base.redaction import redacted
from ..base.tracebacks import text_of
from ..domain.ids import other_id
from ..domain.instants import instant
from ..domain.messages import MessageState
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from .attending import Attendant
from .endpoints import Endpoint, Signer, WebhookRequest
from .events import Event, under_id
from .fault_kinds import NOT_ATTEMPTED
from .faults import FaultHit
from .logged_errors import LoggedError

_NO_RESPONSE: Final = Response(None)

#: In place of a request that nobody asks for any more. No target has it, so none ends for it.
_OVER: Final = cast("WebhookRequest", object())


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
    _body: bytes  # what it posts, as the service itself writes it
    _id: str  # the event's id in that
    number: Final[int] = 1
    moment: int = 0  # until it begins
    fault: str | None = None
    _marks: tuple[Mark, ...] = ()
    _cause: Record | None = None  # the failed attempt or the verb; None: the event itself

    # On its way
    _depth: int = 0  # how many attempts led to it, each causing the next event
    _retried: int = 0  # how many of its endpoint's own retries there were, this one included
    _due: int | None = None  # when it was due, if that is over; None: at once
    _batch: object | None = None  # neighbours in the queue that have the same one are made together
    _is_redelivered: bool = False  # the test attempts a past event again: no fault concerns that

    # What faults have changed
    _is_evolved: bool = False  # whether a later version of the service writes the body
    _known: bytes | None = None  # the body before a field had an unknown value
    _change: Callable[[bytes], bytes] | None = None  # changes the body after it was signed
    _signer: Signer | None = None  # signs in place of the endpoint's own
    _repeats: tuple[FaultHit, ...] = ()  # that repeat it, once it is made
    _failure: FaultHit | None = None  # by which it fails

    # In flight, from when it begins
    _ordinal: int = 0  # how many attempts of the fake have begun, this one included
    _round: int = 0  # the number of the batch in which it is made with others; 0: none
    _request: WebhookRequest = field(init=False)  # what is posted; forgotten at the end, as a rule
    _target: Target = field(init=False)  # how it gets there
    _attendant: Attendant | None = None  # stands beside it
    _is_posted: bool = False  # whether the signer and the function of tamper() raised no error
    _is_late: bool = False  # whether its time was up before its response was complete
    _outcome: Response | BaseException | None = None  # how it ended at the app; None: not yet

    # Its end
    _response: Response = _NO_RESPONSE  # as the service gets it
    _ended: bool = False
    _surfaced: bool = False  # whether its error came back in the test
    _logged: LoggedError | None = None  # what the app logged before its response of 500 or more
    _got_through: bool = False  # whether it is a forgery that the app did not refuse

    def __repr__(self) -> str:
        event = f"{self.event.id}, {self.event._full_name}"
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

    @property
    def _is_new(self) -> bool:
        """Whether faults concern it: it is no retry, and no past event."""
        return self.number == 1 and not self._is_redelivered

    @property
    def _is_wanted(self) -> bool:
        """Whether its endpoint still gets it: a disabled one gets no retries."""
        return self.endpoint.connected and not (self.endpoint.disabled and self.number > 1)

    @property
    def _is_changed(self) -> bool:
        """Whether it posts something other than the event as it was emitted."""
        return self._is_evolved or (self._body, self._id) != (self.event.body, self.event.id)

    @property
    def _is_broken_off(self) -> bool:
        """Whether it was cancelled or interrupted."""
        return isinstance(self._outcome, BaseException) and not isinstance(self._outcome, Exception)

    def _forget_request(self) -> None:
        """Forget what was posted, once it has ended: a test may make very many attempts."""
        if self._outcome is not None:
            self._request = _OVER

    def _again(self, retried: int) -> Attempt:
        """Return the next attempt after it has failed: the same bytes, without faults."""
        return Attempt(
            self.event,
            self.endpoint,
            self._body,
            self._id,
            self.number + 1,
            _cause=self,
            _depth=self._depth,
            _retried=retried,
            _is_evolved=self._is_evolved,
            _known=self._known,
        )

    def _shape(self, hit: FaultHit) -> None:
        """Change it as a fault asks for."""
        if hit.evolve is not None:
            body = hit.evolve(self._body)
            if body == self._body:
                hit.fault.fired -= 1  # the event has no such field
                return
            self._known, self._body = self._body, body
        self.fault = hit.kind
        self._change = hit.change or self._change
        self._signer = hit.signer or self._signer
        self._marks += (hit.mark,)
        if hit.kind == "evolve" and hit.evolve is None:
            self._is_evolved = True
        if hit.new_id:
            self._put_under_id(other_id(self._id))

    def _put_under_id(self, new: str) -> None:
        """Give what it posts another event id."""
        self._body, self._id = under_id(self._body, self._id, new), new

    def _name_mark(self, kind: str, text: str) -> None:
        """Replace the text of the marks of a kind."""
        self._marks = tuple(
            mark._replace(text=text) if mark.kind == kind else mark for mark in self._marks
        )
