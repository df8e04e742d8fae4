"""Attempts: one event on its way to one endpoint, and how that ended; and faults on that way.

An :class:`Attempt` is made when its event is emitted, and stays the same object until the test
reads how it ended. It is *queued*, or a block, a fault or the schedule delays it. It *begins* when
the drain takes it from the queue, and is an entry of the history from then on. It has *ended* when
its response is known. What comes after it, a retry or the repeat of a fault, is another attempt.

A :class:`Fault` changes the way of an attempt. Each kind is a class of :mod:`.faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol, cast

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
    """

    event: Final[Event]
    endpoint: Final[Endpoint]
    _body: bytes  # what it posts, as the service itself writes it
    _id: str  # the event's id in that
    number: Final[int] = 1
    moment: int = 0  # until it begins
    _marks: tuple[Mark, ...] = ()
    _cause: Record | None = None  # the failed attempt or the verb; None: the event itself

    # On its way
    _depth: int = 0  # how many attempts led to it, each causing the next event
    _retried: int = 0  # how many of its endpoint's own retries there were, this one included
    _due: int | None = None  # when it was due, if that is over; None: at once
    _batch: object | None = None  # neighbours in the queue that have the same one are made together
    _is_redelivered: bool = False  # the test attempts a past event again: no fault concerns that

    # What faults have changed
    _faults: tuple[Fault, ...] = ()  # in the order in which they did; one that fails it comes last
    _is_evolved: bool = False  # whether a later version of the service writes the body
    _unknown: tuple[Callable[[bytes], bytes], ...] = ()  # give fields values that nobody knows
    _changes: tuple[Callable[[bytes], bytes], ...] = ()  # of the body, after it was signed
    _signer: Signer | None = None  # signs in place of the endpoint's own
    _repeats: tuple[Fault, ...] = ()  # that repeat it, once it is made
    _failure: Fault | None = None  # by which it fails

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
    def fault(self) -> str | None:
        """The last fault that shaped it, by the name of its method; None without.

        ``"forgery"``, if ``assert_rejects_forgeries()`` made it; ``"disable_after"``, if its
        endpoint was disabled.
        """
        return self._faults[-1]._kind if self._faults else None

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
        if self._effect._crashes_app:
            return f"{status}, then " * (self.status_code is not None) + text_of(self.error)
        late = f", then status {self.late}" if self.late is not None else ""
        return f"{type(self.error).__name__}: {text_of(self.error)}".rstrip(": ") + late

    @property
    def _effect(self) -> Fault | type[Fault]:
        """The last fault that shaped it; without one, a fault that has no effect."""
        return self._faults[-1] if self._faults else Fault

    @property
    def _was_made(self) -> bool:
        return self._effect._is_made

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
        posted, emitted = (self._body, self._id), (self.event.body, self.event.id)
        return self._is_evolved or bool(self._unknown) or posted != emitted

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
            _unknown=self._unknown,
        )

    def _repeated(self, fault: Fault) -> Attempt:
        """Return its repeat by a fault, which does not fail; that of a dropped one is dropped."""
        repeat = replace(self)
        repeat._note(fault)
        if self._failure is None or self._failure._is_made:
            repeat._failure = repeat._outcome = None
        return repeat

    def _note(self, fault: Fault) -> None:
        """Note a fault that has shaped it."""
        self._faults += (fault,)
        self._marks += (fault._mark,)

    def _put_under_id(self, new: str) -> None:
        """Give what it posts another event id."""
        self._body, self._id = under_id(self._body, self._id, new), new


class Delays(Protocol):
    """Where a fault puts what is to be made later.

    Attributes:
        backlog: Has what waits for other attempts, or for a barrier.
    """

    backlog: Backlog[Attempt]

    def delay(self, attempt: Attempt, pause: int) -> None:
        """Schedule an attempt: so many nanoseconds later."""

    def repeat(self, repeat: Attempt, pause: int, fault: Fault) -> None:
        """Schedule a repeat, for which ``settle()`` moves the clock."""


class Fault(Trigger):
    """A fault of matching events, as ``webhooks.duplicate()`` and others return it.

    An event counts once for each endpoint, at its first attempt there. Retries and repeats do not
    count, nor does what ``redeliver()`` sends again.
    """

    # A kind overrides what is different with it. In the order in which an attempt comes to that:
    # `_meet` and `_shape`, `_repeat`, `_attend`, `_signed`, `_end`.

    _face, _home = "Fault", "webhooks"

    #: What sets it up, if no method of its name does.
    _set_up_by: ClassVar[str] = ""
    #: What its mark says, in a word or two.
    _text: ClassVar[str] = ""
    #: Whether other faults may have the same attempt.
    _combines: ClassVar[bool] = False
    #: Whether the attempt is made, and if so, whether the app gets the event.
    _is_made: ClassVar[bool] = True
    _reaches_app: ClassVar[bool] = True
    #: Whether the attempt counts as failed, because the test said so; and because the app crashed.
    _fails: ClassVar[bool] = False
    _crashes_app: ClassVar[bool] = False
    #: Whether the app has reason to refuse the event.
    _is_wrong: ClassVar[bool] = False
    #: Whether the attempt counts for other faults and for its endpoint, and may be retried.
    _counts: ClassVar[bool] = True

    _attend: Attend | None = None  # makes what befalls the app in the attempt
    _details: str = ""  # what its mark says beside
    _mark: Mark
    _where: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The name of the method that set it up."""
        return self._kind

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        super()._set_up(where, line)
        self._mark = Mark(self._kind, self._text + self._details, line)
        names = ("message", "status", "type", "endpoint")
        self._where = {name: where[name] for name in names if where.get(name) is not None}

    def _limits(self) -> Mapping[str, object]:
        def shown(name: str, value: Any) -> object:
            if name == "message":
                return value.id or "a message"  # that is yet to be sent
            return value._shown if name == "endpoint" else value

        return {name: shown(name, value) for name, value in self._where.items()}

    def _strikes(self, attempt: Attempt, *, is_taken: bool) -> bool:
        """Count a first attempt, and return whether to shape it.

        Args:
            attempt: The attempt.
            is_taken: Whether it belongs to another fault, or to a batch: only a fault that combines
                with others fires then.
        """
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

    def _meet(self, attempt: Attempt, delays: Delays) -> bool:  # noqa: ARG002 - some delay it
        """Change a first attempt, or delay it; return whether it is made now."""
        self._shape(attempt)
        return True

    def _shape(self, attempt: Attempt) -> None:
        """Change an attempt; if that fails by it, note the fault at the end: it may not come."""
        if self._fails:
            attempt._failure = self
        else:
            attempt._note(self)

    def _repeat(self, attempt: Attempt, delays: Delays, *, in_batch: bool) -> Attempt | None:
        """Delay the repeat of an attempt; or return it, if it is made at the same time."""
        raise NotImplementedError

    def _signed(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        """Look at the headers of the signature."""

    def _end(self, attempt: Attempt, response: Response) -> Response:
        """End an attempt that fails by it, and return the response that the service gets."""
        attempt._note(self)
        return response
