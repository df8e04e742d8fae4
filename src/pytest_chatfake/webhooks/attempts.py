"""Attempts to post an event to an endpoint, with their results; and the faults that interfere.

An :class:`Attempt` is created when its event is emitted, and stays the same object until the test
reads its result. First it is *queued*, unless a block, a fault or the schedule delays it. It
*begins* when the drain takes it from the queue, and is part of the history from then on. It has
*ended* when its response is known. A retry is another attempt, and so is a repeat that a fault
causes.

A :class:`Fault` interferes with attempts. Its kinds are the classes in :mod:`.faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol

from ..base.calling_line import Line
from ..base.escaping import one_line
from ..base.history import Record
from ..base.marks import Mark
from ..base.redaction import redacted
from ..base.tracebacks import text_of
from ..base.triggers import Trigger
from ..domain.instants import instant
from ..domain.messages import MessageState
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from .attending import Attend, Attendant
from .backlog import Backlog
from .endpoints import Endpoint, Signer, WebhookRequest
from .events import Event, under_id
from .logged_errors import LoggedError

_NO_RESPONSE = Response(None)


@dataclass(slots=True, eq=False)
class Flight:
    """What an attempt only needs while it is under way; discarded at its end, to save memory.

    Attributes:
        depth: The length of the chain of attempts that led to it, each of which caused an event.
        due: When it was due, if time has jumped over that moment.
        batch: The mark of a batch: neighbours in the queue with the same one are made together.
        is_evolved: Whether the body is written as by a later version of the service.
        unknown: Functions that put unknown values into fields.
        changes: Functions that change the body after it was signed.
        signer: Signs instead of the endpoint's own.
        repeats: The faults that repeat the attempt once it is made.
        failure: The fault that makes it fail.
        ordinal: The attempt's number among all attempts of the fake that have begun.
        round: The number of its batch; 0 if it is made alone.
        request: What is posted, once it has begun.
        target: Posts the request, once it has begun.
        attendant: Accompanies the attempt.
        is_posted: Whether the request left: neither the signer nor the function of ``tamper()``
            raised.
        is_late: Whether its response was not complete in time.
        outcome: The app's response or error; None until it is known.
    """

    depth: int = 0
    due: int | None = None
    batch: Mark | None = None
    is_evolved: bool = False
    unknown: tuple[Callable[[bytes], bytes], ...] = ()
    changes: tuple[Callable[[bytes], bytes], ...] = ()
    signer: Signer | None = None
    repeats: tuple[Fault, ...] = ()
    failure: Fault | None = None
    ordinal: int = 0
    round: int = 0
    request: WebhookRequest = field(init=False)
    target: Target = field(init=False)
    attendant: Attendant | None = None
    is_posted: bool = False
    is_late: bool = False
    outcome: Response | BaseException | None = None

    @property
    def is_broken_off(self) -> bool:
        """Whether a cancellation or an interrupt has ended it."""
        return isinstance(self.outcome, BaseException) and not isinstance(self.outcome, Exception)


#: The flight of each attempt that has ended.
_LANDED: Final = Flight(outcome=_NO_RESPONSE)


@dataclass(slots=True, eq=False, repr=False)
class Attempt(Record):
    """One attempt to post an event to an endpoint, and its result.

    Example::

        assert chat_fake.webhooks.attempts[-1].status_code == 503

    Attributes:
        event: The event.
        endpoint: The endpoint.
        number: 1 for the first attempt, 2 for its first retry; a duplicate and ``redeliver()``
            begin at 1 again.
        moment: When the attempt was made, in nanoseconds since the epoch.
    """

    event: Final[Event]
    endpoint: Final[Endpoint]
    _body: bytes  # what is posted, before outbound= and other changes
    _id: str  # the event id in that body
    number: Final[int] = 1
    moment: int = 0  # 0 until it begins
    _marks: tuple[Mark, ...] = ()
    _cause: Record | None = None  # a failed attempt or a verb; None if the event is the cause

    _retried: int = 0  # how many of the endpoint's retries are used up, including this one
    _is_redelivered: bool = False  # by redeliver(), which faults ignore
    # The faults that changed it, in order; one that makes it fail is last.
    _faults: tuple[Fault, ...] = ()
    _flight: Flight = field(default_factory=Flight)

    # Its end
    _response: Response = _NO_RESPONSE  # as the service gets it
    _ended: bool = False
    _surfaced: bool = False  # its error is raised in the test
    _logged: LoggedError | None = None  # what the app logged before it responded with 500 or more
    _got_through: bool = False  # a forgery that the app accepted

    def __repr__(self) -> str:
        event = f"{self.event.id}, {self.event._full_name}"
        return one_line(f"<Attempt {self.number} of {event}, {self._end}>")

    @property
    def fault(self) -> str | None:
        """The name of the last fault that changed the attempt, such as ``"drop"``; else None.

        It is ``"forgery"`` in an attempt of ``assert_rejects_forgeries()``, and ``"disable_after"``
        if the endpoint was disabled.
        """
        return self._faults[-1]._kind if self._faults else None

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What faults did to the attempt, and the lines that set them up."""
        return self._marks

    @property
    def at(self) -> datetime:
        """When the attempt was made: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def status_code(self) -> int | None:
        """The status of the response; None if there was none."""
        return self._response.status

    @property
    def late(self) -> int | None:
        """The status of an in-process response that came after the ``timeout``; else None."""
        return self._response.late

    @property
    def body(self) -> bytes:
        """The body of the response; empty if there was none."""
        return self._response.body

    @property
    def error(self) -> BaseException | None:
        """Why there was no response, or the exception of an in-process app; else None."""
        return self._response.error

    @property
    def ok(self) -> bool:
        """Whether the endpoint accepted the event, with a status from 200 to 299."""
        return self._response.is_success

    @property
    def outcome(self) -> str:
        """How the attempt ended, in a few words."""
        if not self._was_made:
            return "not posted"
        status = f"status {self.status_code}"
        if self.error is None:
            return status
        if self._effect._crashes_app:
            return f"{status}, then " * (self.status_code is not None) + text_of(self.error)
        late = f", then status {self.late}" if self.late is not None else ""
        return f"{type(self.error).__name__}: {text_of(self.error)}".rstrip(": ") + late

    @property
    def _effect(self) -> Fault | type[Fault]:
        # `Fault` itself has no effect.
        return self._faults[-1] if self._faults else Fault

    @property
    def _was_made(self) -> bool:
        return self._effect._is_made

    @property
    def _message(self) -> MessageState | None:
        return self.event._message

    @property
    def _end(self) -> str:
        # On one line, and without secrets.
        return redacted(f"at {self.endpoint.label}: {' '.join(self.outcome.split())}")

    @property
    def _is_new(self) -> bool:
        # Faults ignore retries and past events.
        return self.number == 1 and not self._is_redelivered

    @property
    def _is_wanted(self) -> bool:
        # A disabled endpoint gets no retries.
        return self.endpoint.connected and not (self.endpoint.disabled and self.number > 1)

    @property
    def _is_changed(self) -> bool:
        # The posted bytes differ from the event as it was emitted.
        posted, emitted = (self._body, self._id), (self.event.body, self.event.id)
        return self._flight.is_evolved or bool(self._flight.unknown) or posted != emitted

    def _land(self) -> None:
        # After an interrupt, a thread may still be making this attempt.
        if self._flight.outcome is not None:
            self._flight = _LANDED

    def _again(self, retried: int) -> Attempt:
        # The next attempt if this one fails: the same bytes, without faults.
        flight = self._flight
        return Attempt(
            self.event,
            self.endpoint,
            self._body,
            self._id,
            self.number + 1,
            _cause=self,
            _retried=retried,
            _flight=Flight(flight.depth, is_evolved=flight.is_evolved, unknown=flight.unknown),
        )

    def _repeated(self, fault: Fault) -> Attempt:
        # The repeat doesn't fail with this attempt; but if this one is dropped, so is the repeat.
        flight = replace(self._flight)
        repeat = replace(self, _flight=flight)
        repeat._note(fault)
        if flight.failure is None or flight.failure._is_made:
            flight.failure = flight.outcome = None
        return repeat

    def _note(self, fault: Fault) -> None:
        self._faults += (fault,)
        self._marks += (fault._mark,)

    def _put_under_id(self, new: str) -> None:
        self._body, self._id = under_id(self._body, self._id, new), new


class Delays(Protocol):
    """The parts that a fault hands an attempt to, in order to have it made later.

    Attributes:
        backlog: Holds attempts that wait for others, or for a barrier.
    """

    backlog: Backlog[Attempt]

    def delay(self, attempt: Attempt, pause: int) -> None:
        """Schedule an attempt for ``pause`` nanoseconds later."""

    def repeat(self, repeat: Attempt, pause: int, fault: Fault) -> None:
        """Schedule a repeat for ``pause`` nanoseconds later; ``settle()`` moves the clock to it."""


class Fault(Trigger):
    """A fault that affects matching events, as returned by ``webhooks.duplicate()`` and others.

    An event matches at most once for each endpoint, at its first attempt there. Retries, repeats
    and ``redeliver()`` don't count.
    """

    # Each kind overrides some of these methods, which are called in this order: `_meet` and
    # `_shape`, `_repeat`, `_attend`, `_signed`, `_end`.

    _face, _home = "Fault", "webhooks"
    _filters = ("message", "status", "type", "endpoint")

    #: What sets the fault up, if no method has its name.
    _set_up_by: ClassVar[str] = ""
    #: The mark's word or two.
    _text: ClassVar[str] = ""
    #: Whether other faults can change the same attempt.
    _combines: ClassVar[bool] = False
    #: Whether the attempt is made, and if so, whether the app gets the event.
    _is_made: ClassVar[bool] = True
    _reaches_app: ClassVar[bool] = True
    #: Whether the attempt counts as failed, because the test wants it or because the app crashed.
    _fails: ClassVar[bool] = False
    _crashes_app: ClassVar[bool] = False
    #: Whether the app should refuse the event.
    _is_wrong: ClassVar[bool] = False
    #: Whether other faults and the endpoint count the attempt, and whether it may be retried.
    _counts: ClassVar[bool] = True

    # Makes the attendant that crashes the app, or raises an error in it.
    _attend: Attend | None = None
    _details: str = ""  # details for the mark
    _mark: Mark

    @property
    def kind(self) -> str:
        """The name of the method that set up the fault."""
        return self._kind

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        super()._set_up(where, line)
        self._mark = Mark(self._kind, self._text + self._details, line)

    def _shown_filter(self, name: str, value: Any) -> object:
        if name == "message":
            return value.id or "a message"  # it has no id before it is sent
        return value._shown if name == "endpoint" else value

    def _strikes(self, attempt: Attempt, *, is_taken: bool) -> bool:
        # Counts a first attempt, and returns whether to fire. If the attempt is already part of a
        # batch or changed by another fault, only faults that combine with others fire.
        if not (self._concerns(attempt) and self._should_fire()):
            return False
        if is_taken and not self._combines:
            return False
        self._fire()
        return True

    def _concerns(self, attempt: Attempt) -> bool:
        event = attempt.event
        has = {
            "message": event._message,
            "status": event.status,
            "type": event.type,
            "endpoint": attempt.endpoint,
        }
        return self._where.items() <= has.items()

    def _meet(self, attempt: Attempt, delays: Delays) -> bool:  # noqa: ARG002 - some kinds need it
        # Changes or delays a first attempt; returns whether to make it now.
        self._shape(attempt)
        return True

    def _shape(self, attempt: Attempt) -> None:
        # A fault that makes the attempt fail is noted at the end, once the failure has happened.
        if self._fails:
            attempt._flight.failure = self
        else:
            attempt._note(self)

    def _repeat(self, attempt: Attempt, delays: Delays, *, in_batch: bool) -> Attempt | None:  # noqa: ARG002 - some kinds need it
        # Returns an attempt's repeat if both are made at the same time.
        return attempt._repeated(self)

    def _signed(self, attempt: Attempt, headers: Mapping[str, str]) -> None: ...

    def _end(self, attempt: Attempt, response: Response) -> Response:
        # Ends an attempt that this fault makes fail; returns the response as the service gets it.
        attempt._note(self)
        return response
