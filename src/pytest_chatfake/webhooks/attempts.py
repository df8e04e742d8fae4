"""Attempts to post an event to an endpoint, with their results.

An :class:`Attempt` stays the same object from the queue until the test reads its result. It is
*queued* until it is its turn, and ``_wait`` says what it waits for. It *begins* when the drain
makes it, and is part of the history from then on. It has *ended* when its response is known. An
attempt that a fault loses begins and ends as well, although no request is made. A retry is another
attempt, and so is a repeat that a fault causes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ..base.escaping import one_line
from ..base.history import Record
from ..base.marks import Mark
from ..base.redaction import redacted
from ..base.tracebacks import LoggedError, text_of
from ..domain.ids import other_id
from ..domain.instants import instant
from ..domain.messages import MessageState
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from .attending import Attendant
from .decisions import (
    NOTHING,
    Changed,
    Decision,
    Hold,
    Meaning,
    Repeat,
    Twice,
    Wait,
    meaning_of,
)
from .endpoints import Endpoint, Signer, WebhookRequest
from .events import Event, under_id

_NO_RESPONSE = Response(None)


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
    _depth: int  # the length of the chain of attempts, each causing an event, that led to it
    number: Final[int] = 1
    _cause: Record | None = None  # a failed attempt or a verb; None: the event, once it begins
    _retried: int = 0  # how many of the endpoint's retries are used up, including this one

    # While it is queued
    _wait: Wait | None = None  # what it waits for
    moment: int = 0  # until it begins: when it was due, if time has jumped over that moment

    # What faults do to it
    _was_asked: bool = False  # they are asked once, and not about retries or past events
    _decisions: tuple[Decision, ...] = ()  # one that makes it fail is last
    _marks: tuple[Mark, ...] = ()  # of decisions once they are carried out, and of the test's calls
    _other_id: str | None = None  # the event id to post, if it isn't the event's own

    # While it is made
    _call: Record | None = None  # the API call before whose response a fault makes it
    _place: str = ""  # the path, after a space, if a function of the event chose it
    _post: Post | None = None  # all the rest, kept after its end only for a refused signature

    # Its end
    _response: Response = _NO_RESPONSE  # as the service gets it
    _surfaced: bool = False  # the error that is raised in the test is its own, or names it
    _logged: LoggedError | None = None  # what the app logged before it failed or accepted the event

    def __repr__(self) -> str:
        event = f"{self.event.id}, {self.event._full_name}"
        return one_line(f"<Attempt {self.number} of {event}, {self._end}>")

    @property
    def fault(self) -> str | None:
        """The name of the last fault that changed the attempt, such as ``"lose"``; else None.

        It is ``"forgery"`` in an attempt of ``assert_rejects_forgeries()``, and ``"disable_after"``
        if the endpoint was disabled.
        """
        # A retry posts a changed event as well, but no fault changes a retry.
        is_retry = self.number > 1
        return None if is_retry or not self._decisions else self._decisions[-1].mark.kind

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
        if self._meaning.crashed:
            return f"{status}, then " * (self.status_code is not None) + text_of(self.error)
        late = f", then status {self.late}" if self.late is not None else ""
        return f"{type(self.error).__name__}: {text_of(self.error)}".rstrip(": ") + late

    @property
    def _ended(self) -> bool:
        return self._response is not _NO_RESPONSE

    @property
    def _body(self) -> bytes:
        # What is posted, before outbound= and other changes.
        event, new = self.event, self._other_id
        return event.body if new is None else under_id(event.body, event.id, new)

    @property
    def _meaning(self) -> Meaning:
        return meaning_of(self._decisions) if self._decisions else NOTHING

    @property
    def _was_made(self) -> bool:
        return not self._meaning.unmade

    @property
    def _message(self) -> MessageState | None:
        return self.event._message

    @property
    def _end(self) -> str:
        # On one line, and without secrets.
        outcome = " ".join(self.outcome.split())
        return redacted(f"at {self.endpoint.label}{self._place}: {outcome}")

    @property
    def _is_new(self) -> bool:
        # Neither a retry nor a past event, which a verb queues again.
        return self.number == 1 and self._cause in {None, self.event}

    @property
    def _is_wanted(self) -> bool:
        # A disabled endpoint gets no retries.
        return self.endpoint.connected and not (self.number > 1 and self.endpoint.disabled)

    @property
    def _changes(self) -> list[Changed]:
        return [decision for decision in self._decisions if isinstance(decision, Changed)]

    @property
    def _is_changed(self) -> bool:
        # The event that it posts differs from the one that was emitted.
        return self._other_id is not None or any(change.is_of_event for change in self._changes)

    def _note(self, decision: Decision) -> None:
        self._decisions += (decision,)
        self._marks += (decision.mark,)

    def _again(self, retried: int) -> Attempt:
        # The next attempt if this one fails. Changes of the event stay; what else faults did was
        # for this attempt alone.
        return Attempt(
            self.event,
            self.endpoint,
            self._depth,
            self.number + 1,
            self,
            retried,
            _was_asked=True,
            _decisions=tuple(change for change in self._changes if change.is_of_event),
            _other_id=self._other_id,
        )

    def _repeated(self, twice: Twice) -> Attempt:
        # The repeat doesn't fail with this attempt; but if this one is not made, neither is it.
        kept = [each for each in self._decisions if isinstance(each, (Changed, Hold))]
        ends = [each for each in self._decisions if each.meaning.unmade]
        repeat = replace(self, _decisions=tuple(kept))
        repeat._note(Repeat(twice.fault, twice.mark, twice=twice))
        repeat._decisions += tuple(ends)
        if twice.new_id:
            repeat._other_id = other_id(self.event.id)
        return repeat


@dataclass(slots=True, eq=False, repr=False)
class Post:
    """What an attempt needs only while it is made, and a report of a refused signature afterwards.

    Attributes:
        attempt: The attempt.
        request: What is posted.
        target: Posts it.
        batch: The number of its batch; 0 if it is made alone.
        is_twin: Whether it is one of two attempts that a fault makes at the same time.
        attendant: Accompanies it.
        signer: Signs in place of faults and of the endpoint.
        is_posted: Whether the request was ready to be posted: neither the signer nor the function
            of ``tamper()`` raised.
        is_late: Whether its response was not complete in time.
        result: The app's response or error; None until it is known.
        ended: What was raised around the attempt, such as an interrupt or an error of another
            plugin's hook.
    """

    attempt: Attempt
    request: WebhookRequest
    target: Target
    batch: int = 0
    is_twin: bool = False
    attendant: Attendant | None = None
    signer: Signer | None = None
    is_posted: bool = False
    is_late: bool = False
    result: Response | BaseException | None = None
    ended: BaseException | None = None
