"""The outbox: events are written, recorded and queued. Nothing is sent here.

All of it happens under the fake's lock, in the middle of a verb. An event is written before the
change that it reports, because an ``extra=`` function may fail; it is emitted after it. The
:class:`.Drain` takes from the queue, and attempts with no lock held.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from ..base.calling_line import Line
from ..base.growing_index import GrowingIndex
from ..base.history import Record
from ..base.marks import Mark
from ..base.triggers import Triggers
from ..domain.facts import Fact
from ..domain.ids import Ids
from ..domain.instants import MILLISECOND, Moment, shown
from ..domain.messages import MessageState
from ..wire.bodies import EventWriter
from .attempts import Attempt, Fault
from .core import Core
from .endpoints import Endpoint, Endpoints
from .events import CustomEvent, Event
from .outbound import Outbound
from .synthetic import Edit

#: Ids of forgeries are counted down from here, so no event will ever have one.
_LAST_ID: Final = 0xFFFF_FFFF


class Outbox:
    """The events of a fake, on their way to its endpoints.

    Attributes:
        endpoints: Where attempts go.
        events: What was emitted, in order.
        attempts: The attempts that have ended, in the order in which they did.
        seen: How many of these the test has read.
        queue: What is to be attempted next, in order.
        paused: What a block of ``paused()`` holds back; None outside. The attempts at an event, at
            all its endpoints, are held back together.
        faults: Those that are set up now.
        unheard: Events that no endpoint listened for.
        depth: How many attempts led to what is emitted now, each causing the next event.
    """

    def __init__(
        self,
        core: Core,
        writer: EventWriter,
        *,
        per_message: bool,
        outbound: Callable[[Any], object] | None,
        tick: int,
    ) -> None:
        self._core = core
        self._tick = tick
        self._writer = writer
        self._per_message = per_message
        self._outbound = None if outbound is None else Outbound(core, outbound)
        self.endpoints: Endpoints = Endpoints()
        self.faults: Triggers[Fault] = Triggers(core.history)
        self.paused: list[list[Attempt]] | None = None
        self.depth: int = 0

    def reset(self, ids: Ids) -> None:
        """Forget all events and attempts; endpoints stay, as they were connected."""
        self._ids = ids
        self.events: list[Event] = []
        self.attempts: list[Attempt] = []
        self.seen: int = 0
        self._by_message = GrowingIndex(self.events, attrgetter("_message"))
        self._of_messages = 0  # events of messages have ids of a sequence of their own
        self._custom: Counter[str] = Counter()  # how many there are of each type
        self._recorded: dict[str, int] = {}  # numbers of recorded messages, by their ids
        self.queue: deque[Attempt] = deque()
        self.unheard: list[Event] = []
        self._last = 0  # when the last event was, as it says
        self.faults.clear()
        if self._outbound is not None:
            self._outbound.reset()
        self.endpoints.reset()
        if self.paused is not None:
            self.paused.clear()  # its block goes on, and holds back what is emitted next

    def events_of(self, message: MessageState | None) -> Sequence[Event]:
        """Return the events about a message, in order; None: those about none."""
        return self._by_message.all(message)

    @property
    def queued(self) -> list[Event]:
        """The events in the queue that an endpoint is still connected for, each once."""
        return [*dict.fromkeys(attempt.event for attempt in self.queue if attempt._is_wanted)]

    # Writing

    def later(self, now: int) -> int:
        """Return the moment of the next events: they say that it is a tick after the last ones."""
        return Moment.of(now, max(now, self._last + self._tick)) if self._tick else now

    def write_facts(self, facts: Sequence[Fact], fields: str, line: Line) -> list[Event]:
        """Write the events of facts that are about to be applied, all with the same fields."""
        written: list[Event] = []
        for ahead, fact in enumerate(facts):
            message, what, type_ = fact.message, fact.what, self._writer.event_type
            id_ = self._next_id(message, ahead)
            body = self._writer.write(id_, fact, fields)
            written.append(
                Event(
                    id_,
                    type_,
                    what,
                    body,
                    line,
                    fact.at,
                    _message=message,
                    _rule=fact.rule,
                    _outbound=self._outbound,
                )
            )
        return written

    def write_synthetic(
        self, fact: Fact, fields: str, status: str, edit: Edit | bytes, type_: str, line: Line
    ) -> Event:
        """Write an event that the service would not emit: an honest body, edited."""
        message, marks = fact.message, (Mark("emit", "synthetic", line),)
        id_ = self._next_id(message)
        outbound = None if isinstance(edit, bytes) else self._outbound
        body = (
            edit if isinstance(edit, bytes) else edit(self._writer.write(id_, fact, fields, status))
        )
        return Event(
            id_,
            type_,
            status,
            body,
            line,
            fact.at,
            True,
            _message=message,
            _marks=marks,
            _outbound=outbound,
        )

    def write_custom(self, custom: CustomEvent, line: Line, now: int) -> Event:
        """Write an event of another type, or a recorded one: it is about no message of the fake."""
        type_, id_, key, resource, body, status, recorded_id = custom
        id_ = id_ or self._ids.other_event % self._next_custom
        if body is None:
            body = self._writer.write_other(id_, type_, key, resource, now)
        return Event(id_, type_, status or None, body, line, now, _recorded_id=recorded_id)

    def ask_outbound(self, events: Sequence[Event]) -> bool:
        """Ask how the first of these events is posted that was not asked for; False: all were.

        The lock is released for that, so they are to be written anew.
        """
        return any(
            event._outbound.prepare(event.body, event._full_name)
            for event in events
            if event._outbound
        )

    def _next_id(self, message: MessageState, ahead: int = 0) -> str:
        """Return the next id of an event about a message, or the one ``ahead`` places later."""
        number = message.number if self._per_message else self._of_messages + ahead + 1
        return self._ids.event % number

    @property
    def _next_custom(self) -> int:
        return self._custom.total() + 1

    def next_inbound_id(self) -> str:
        """Return the id of the next message that a person writes, numbered as its event."""
        return self._ids.inbound % self._next_custom

    # Emitting

    def emit(self, event: Event, cause: Record) -> None:
        """Emit an event about a message, as it was written."""
        self._of_messages += 1
        self._emit(event, cause)

    def emit_custom(self, event: Event, cause: Record) -> None:
        """Emit an event that is about no message of the fake, as it was written."""
        self._custom[event.type] += 1
        event._ordinal = self._custom[event.type]
        if event._recorded_id:
            number = len(self._recorded) + 1
            event._recorded_number = self._recorded.setdefault(event._recorded_id, number)
        self._emit(event, cause)

    def _emit(self, event: Event, cause: Record) -> None:
        self._core.history.add(event, cause)
        self.events.append(event)
        self._last = max(self._last, shown(event.moment))
        self._send(event)

    def redeliver(self, event: Event, line: Line, cause: Record) -> None:
        """Queue a past event again."""
        marks = (Mark("redeliver", "again", line),)
        self._send(event, _cause=cause, _marks=marks, _is_redelivered=True)

    def forge(self, attempt: Attempt) -> Iterator[None]:
        """A step: make an attempt under an event id of its own, past all faults and pauses."""
        attempt._put_under_id(self._ids.event % (_LAST_ID - len(self.attempts)))
        self.queue.append(attempt)
        yield

    def _send(self, event: Event, **how: Any) -> None:
        """Send an event on its way to the endpoints that listen for it."""
        endpoints = self.endpoints.listening(event.type)
        if endpoints:
            posted, depth = (event.body, event.id), self.depth
            self._enqueue([Attempt(event, to, *posted, _depth=depth, **how) for to in endpoints])
        else:
            self.unheard.append(event)

    def _enqueue(self, attempts: list[Attempt]) -> None:
        """Queue the attempts at an event; inside a block that pauses, hold them back together."""
        if self.paused is None:
            self.queue.extend(attempts)
        else:
            self.paused.append(attempts)

    # Later

    def plan(self, attempt: Attempt, delay: int, since: int | None = None) -> None:
        """Schedule an attempt; the delay counts from a moment, or from now."""
        start = self._core.now() if since is None else since
        with self._core.lock:
            if attempt._is_wanted:
                self._core.schedule.add(start + delay, "attempt", attempt)

    def disconnect(self, endpoint: Endpoint) -> None:
        """Disconnect an endpoint, and forget the attempts that were scheduled for it."""
        self.endpoints.disconnect(endpoint)
        self.forget_unwanted()

    def forget_unwanted(self) -> None:
        """Forget the attempts that are scheduled, and that their endpoint does not get any more."""
        with self._core.lock:
            schedule = self._core.schedule
            for key, (_, subject) in tuple(schedule.work.items()):
                if isinstance(subject, Attempt) and not subject._is_wanted:
                    schedule.cancel(key)

    def take_due(self, due: int, attempt: Attempt) -> None:
        """Queue what was scheduled for ``due``: a late attempt, or a retry."""
        # Where time has jumped over it, it counts as made when it was due.
        if self._core.now() - due > MILLISECOND:
            attempt._due = due
        self._enqueue([attempt])
