"""The outbox: events are written, logged, shaped by faults, and queued. Nothing is sent here.

All of it happens under the fake's lock, in the middle of a verb. An event is written before the
change that it tells of, because an ``extra=`` function may fail; it is emitted after it. The
:class:`.Drain` takes from the queue, with no lock held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, TypeAlias

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.notes import ENTRY, EVENT
from ..base.triggers import Triggers
from ..domain.facts import Fact
from ..domain.ids import Ids
from ..domain.instants import MILLISECOND
from ..domain.messages import MessageState
from ..domain.schedule import Schedule
from ..wire.bodies import EventWriter
from .attempts import AttemptLog
from .dispatch import Content, Dispatch, Overrides
from .endpoints import Endpoint, Endpoints
from .events import Event, EventLog, OtherEvent
from .faults import Fault, shaped
from .synthetic import UNKNOWN_TYPE, Edit

#: An event that is not emitted yet, and its body.
Written: TypeAlias = tuple[Event, bytes]

#: Ids of forgeries are counted down from here, so no event will ever have one.
_LAST_ID: Final = 0xFFFF_FFFF


class Outbox:
    """The events of a fake, on their way to its endpoints.

    Attributes:
        endpoints: Where attempts go.
        events: What was emitted, in order.
        attempts: What was attempted, in order.
        queue: What is to be attempted next, in order.
        paused: What is held back, inside a block that pauses; None outside.
        faults: Those that are set up now.
        unheard: Events of other types that no endpoint listened for.
        depth: How many attempts led to what is emitted now, each causing the next event.
        now: Returns the present in nanoseconds.
    """

    def __init__(
        self,
        writer: EventWriter,
        *,
        per_message: bool,
        now: Callable[[], int],
        schedule: Schedule,
        lock: AbstractContextManager[object],
        note: Callable[[int], None],
    ) -> None:
        self._writer = writer
        self._per_message = per_message
        self._schedule = schedule
        self._lock = lock
        self._note = note
        self.now: Callable[[], int] = now
        self.endpoints: Endpoints = Endpoints()
        self.faults: Triggers[Fault] = Triggers()
        self.paused: list[Dispatch] | None = None
        self.depth: int = 0

    def begin(self, ids: Ids) -> None:
        """Start new logs of events and attempts; endpoints stay, as they were connected.

        An event of the old logs is recognised by its log, and not attempted any more.
        """
        type_ = self._writer.event_type
        self.events: EventLog = EventLog(ids, type_, per_message=self._per_message)
        self.attempts: AttemptLog = AttemptLog(self.events)
        self.queue: deque[Dispatch] = deque()
        self.unheard: list[Event] = []
        self.faults.clear()
        self.endpoints.begin()
        if self.paused is not None:
            self.paused.clear()  # its block goes on, and holds back what is emitted next

    def events_of(self, number: int) -> Sequence[Event]:
        """Return the events about the message of a number, in order."""
        with self._lock:
            return self.events.of(number)

    @property
    def queued(self) -> list[Event]:
        """The events in the queue that an endpoint is still connected for."""
        return [dispatch.event for dispatch in self.queue if dispatch.is_wanted]

    # Writing

    def write_facts(
        self, facts: list[Fact], fields: Mapping[tuple[MessageState, str], str] | None
    ) -> list[tuple[Fact, Event, bytes]]:
        """Write the events of facts that are about to be applied."""
        written: list[tuple[Fact, Event, bytes]] = []
        events = self.events
        for ahead, fact in enumerate(facts):
            event = events.upcoming(ahead)
            id_ = events.id_of(event, fact.message.number)
            more = "" if fields is None else fields[fact.message, fact.what]
            written.append((fact, event, self._writer.write(id_, fact, more)))
        return written

    def write_synthetic(self, fact: Fact, fields: str, status: str, edit: Edit) -> Written:
        """Write an event that the service would not emit: an honest body, edited."""
        event = self.events.upcoming()
        id_ = self.events.id_of(event, fact.message.number)
        return event, edit(self._writer.write(id_, fact, fields, status))

    def write_other(self, draft: OtherEvent, now: int) -> tuple[OtherEvent, Written]:
        """Write an event of another type, and give it its id."""
        id_ = draft.id or self.events.next_other_id()
        body = draft.body
        if body is None:
            body = self._writer.write_other(id_, draft.type, draft.key, draft.resource, now)
        return draft._replace(id=id_), (self.events.upcoming(), body)

    # Emitting

    def emit(self, fact: Fact, event: Event, body: bytes, line: Line) -> None:
        """Emit the event of a fact, as it was written."""
        self.events.add(fact.what, fact.message.number, body, line, fact.at)
        self._note(fact.rule.code + ENTRY * len(fact.entries))
        self._enqueue(event, self._writer.event_type)

    def emit_synthetic(
        self, fact: Fact, written: Written, status: str, type_: str, line: Line
    ) -> None:
        """Emit an event that the service would not, as it was written."""
        event, body = written
        self.events.add_synthetic(status, fact.message.number, body, line, fact.at, type_)
        self._note(EVENT)
        self._enqueue(event, type_)

    def emit_other(self, draft: OtherEvent, written: Written, line: Line, now: int) -> None:
        """Emit an event of another type, which belongs to no message, as it was written."""
        event, body = written
        self.events.add_other(draft, body, line, now)
        self._note(EVENT)
        self._enqueue(event, draft.type)

    def emit_forerunner(self, dispatch: Dispatch, mark: Mark) -> None:
        """Emit the event of an unknown type that comes before another one, where one listens.

        That is done right before its attempt, so the events of a verb stay next to each other.
        """
        dispatch.forerunner = None
        listening = self.endpoints.listening(UNKNOWN_TYPE)
        endpoints = tuple(one for one in dispatch.endpoints if one in listening)
        if not endpoints:
            return
        with self._lock:
            id_, now = self.events.next_unknown_id(), self.now()
            draft = OtherEvent(UNKNOWN_TYPE, id_, "chatUnknown", "{}", None)
            draft, (event, body) = self.write_other(draft, now)
            self.events.add_other(draft, body, dispatch.event.line, now)
            self._note(EVENT)
            forerunner = Dispatch(event, endpoints, dispatch.depth, batch=dispatch.batch)
            forerunner.mark(mark)
            self.queue.appendleft(forerunner)

    def redeliver(self, event: Event, line: Line) -> None:
        """Queue a past event again."""
        self._enqueue(event, event.type, Mark("redeliver", "again", line))

    def forge(self, event: Event, endpoint: Endpoint, overrides: Overrides) -> Iterator[None]:
        """A step: attempt an event under an id of its own, past all faults and pauses."""
        id_ = self.events._ids.event % (_LAST_ID - len(self.attempts))
        content = Content(event.body, event.id).under_id(id_)
        self.queue.append(Dispatch(event, (endpoint,), 0, overrides=overrides, content=content))
        yield

    def _enqueue(self, event: Event, type_: str, mark: Mark | None = None) -> None:
        """Send an event on its way, past the faults that concern it."""
        endpoints = self.endpoints.listening(type_)
        if not endpoints:
            if type_ != self._writer.event_type:
                self.unheard.append(event)
            return
        dispatch = Dispatch(event, endpoints, self.depth)
        if mark is not None:
            dispatch.mark(mark)
        queue = self.queue if self.paused is None else self.paused
        if not (self.faults.active and dispatch.is_new):
            queue.append(dispatch)
            return
        queue.extend(shaped(dispatch, self.faults.active))

    # Later

    def plan(self, dispatch: Dispatch, delay: int, since: int | None = None) -> None:
        """Schedule a dispatch; the delay counts from a moment, or from now."""
        start = self.now() if since is None else since
        with self._lock:
            if dispatch.is_wanted:
                self._schedule.add(start + delay, "attempt", dispatch)

    def disconnect(self, endpoint: Endpoint) -> None:
        """Disconnect an endpoint, and forget the attempts that were scheduled for it alone."""
        self.endpoints.disconnect(endpoint)
        self.forget_unwanted()

    def forget_unwanted(self) -> None:
        """Forget the attempts that are scheduled for no endpoint any more."""
        with self._lock:
            for key, (_, subject) in tuple(self._schedule.work.items()):
                if isinstance(subject, Dispatch) and not subject.is_wanted:
                    self._schedule.cancel(key)

    def take_due(self, dispatch: Dispatch, due: int) -> None:
        """Queue what was scheduled for ``due``: a late attempt, or a retry."""
        # Where time has jumped over it, it counts as made when it was due.
        if self.now() - due > MILLISECOND:
            dispatch.due = due
        (self.queue if self.paused is None else self.paused).append(dispatch)
