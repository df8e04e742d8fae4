"""The outbox: writes, records and queues events. It sends nothing.

All this happens under the fake's lock, in the middle of a verb. An event is written before the
change that it reports, because an ``extra=`` function may fail, and emitted after the change.
Later, the :class:`.Drain` takes it from the queue and attempts it without the lock.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

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
from .attempts import Attempt, Fault, Flight
from .core import Core
from .endpoints import Endpoint, Endpoints
from .events import CustomEvent, Event
from .outbound import Outbound
from .synthetic import Edit

#: Forgeries' ids count down from here, so that no event ever has the same id.
_LAST_ID = 0xFFFF_FFFF


class Outbox:
    """A fake's events, on their way to its endpoints.

    Attributes:
        endpoints: The endpoints.
        events: The events that were emitted, in order.
        attempts: The attempts that have ended, in the order in which they ended.
        seen: How many of these attempts the test has read.
        queue: The attempts to make next, in order.
        paused: What a ``paused()`` block holds back: one list of attempts for each event. None
            outside such a block.
        faults: The faults that are set up.
        unheard: Events that no endpoint listened for.
        depth: The length of the chain of attempts that has led here, each of which caused an event.
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
        """Forget all events and attempts; endpoints go back to their state when connected."""
        self._ids = ids
        self.events: list[Event] = []
        self.attempts: list[Attempt] = []
        self.seen: int = 0
        self._by_message = GrowingIndex(self.events, attrgetter("_message"))
        # How many events are about messages, whose ids have their own sequence.
        self._of_messages = 0
        self._custom: Counter[str] = Counter()  # how many events there are of each other type
        self._recorded: dict[str, int] = {}  # the numbers of recorded messages, by id
        self.queue: deque[Attempt] = deque()
        self.unheard: list[Event] = []
        self._last = 0  # the moment in the last event
        self.faults.clear()
        if self._outbound is not None:
            self._outbound.reset()
        self.endpoints.reset()
        if self.paused is not None:
            self.paused.clear()  # the block goes on, and holds back later events

    def events_of(self, message: MessageState | None) -> Sequence[Event]:
        """Return the events about a message, in order; for None, those about no message."""
        return self._by_message.all(message)

    @property
    def queued(self) -> list[Event]:
        """The events in the queue that an endpoint still wants, each once."""
        return [*dict.fromkeys(attempt.event for attempt in self.queue if attempt._is_wanted)]

    # Writing

    def later(self, now: int) -> int:
        """Return the moment to show in the next events: a tick after the last ones."""
        return Moment.of(now, max(now, self._last + self._tick)) if self._tick else now

    def write_facts(self, facts: Sequence[Fact], fields: str, line: Line) -> list[Event]:
        """Write the events for facts that are about to be applied, with the same extra fields."""
        return [
            Event(
                id_ := self._next_id(fact.message, ahead),
                self._writer.event_type,
                fact.what,
                self._writer.write(id_, fact, fields),
                line,
                fact.at,
                _message=fact.message,
                _rule=fact.rule,
                _outbound=self._outbound,
            )
            for ahead, fact in enumerate(facts)
        ]

    def write_synthetic(
        self, fact: Fact, fields: str, status: str, edit: Edit | bytes, type_: str, line: Line
    ) -> Event:
        """Write an event that the service would not send: a true body, edited."""
        id_ = self._next_id(fact.message)
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
            _message=fact.message,
            _marks=(Mark("emit", "synthetic", line),),
            _outbound=None if body is edit else self._outbound,
        )

    def write_custom(self, custom: CustomEvent, line: Line, now: int) -> Event:
        """Write an event of another type, or a recorded one, about none of the fake's messages."""
        type_, id_, key, resource, body, status, recorded_id = custom
        id_ = id_ or self._ids.other_event % self._next_custom
        if body is None:
            body = self._writer.write_other(id_, type_, key, resource, now)
        return Event(id_, type_, status or None, body, line, now, _recorded_id=recorded_id)

    def ask_outbound(self, events: Sequence[Event]) -> bool:
        """Call ``outbound=`` for the first of these events that it was not called for yet.

        Returns:
            Whether it was called. The lock was released meanwhile, so write the events again.
        """
        return self._outbound is not None and any(
            event._outbound.prepare(event.body, event._full_name)
            for event in events
            if event._outbound
        )

    def _next_id(self, message: MessageState, ahead: int = 0) -> str:
        number = message.number if self._per_message else self._of_messages + ahead + 1
        return self._ids.event % number

    @property
    def _next_custom(self) -> int:
        return self._custom.total() + 1

    def next_inbound_id(self) -> str:
        """Return the id of the next message that a person writes; its event has the same number."""
        return self._ids.inbound % self._next_custom

    # Emitting

    def emit(self, event: Event, cause: Record) -> None:
        """Emit an event about a message."""
        self._of_messages += 1
        self._emit(event, cause)

    def emit_custom(self, event: Event, cause: Record) -> None:
        """Emit an event that is about none of the fake's messages."""
        self._custom[event.type] += 1
        event._ordinal = self._custom[event.type]
        if event._recorded_id:
            number = len(self._recorded) + 1
            event._recorded_number = self._recorded.setdefault(event._recorded_id, number)
        self._emit(event, cause)

    def _emit(self, event: Event, cause: Record) -> None:
        self._core.history.add(event, cause)
        self.events.append(event)
        if self._tick:
            self._last = max(self._last, shown(event.moment))
        self._send(event)

    def redeliver(self, event: Event, line: Line, cause: Record) -> None:
        """Queue a past event again."""
        marks = (Mark("redeliver", "again", line),)
        self._send(event, _cause=cause, _marks=marks, _is_redelivered=True)

    def forge(self, attempt: Attempt) -> Iterator[None]:
        """Make an attempt with a new event id, regardless of faults and pauses; a step."""
        attempt._put_under_id(self._ids.event % (_LAST_ID - len(self.attempts)))
        self.queue.append(attempt)
        yield

    def _send(self, event: Event, **how: Any) -> None:
        endpoints = self.endpoints.listening(event.type)
        if endpoints:
            posted = event.body, event.id
            self._enqueue(
                [Attempt(event, to, *posted, _flight=Flight(self.depth), **how) for to in endpoints]
            )
        else:
            self.unheard.append(event)

    def _enqueue(self, attempts: list[Attempt]) -> None:
        if self.paused is None:
            self.queue.extend(attempts)
        else:
            self.paused.append(attempts)

    # Later

    def plan(self, attempt: Attempt, delay: int, since: int | None = None) -> None:
        """Schedule an attempt; the delay in nanoseconds counts from ``since``, or from now."""
        start = self._core.now() if since is None else since
        with self._core.lock:
            if attempt._is_wanted:
                self._core.schedule.add(start + delay, "attempt", attempt)

    def disconnect(self, endpoint: Endpoint) -> None:
        """Disconnect an endpoint, and forget its scheduled attempts."""
        self.endpoints.disconnect(endpoint)
        self.forget_unwanted()

    def forget_unwanted(self) -> None:
        """Forget scheduled attempts at endpoints that no longer get them."""
        with self._core.lock:
            schedule = self._core.schedule
            for key, (_, subject) in tuple(schedule.work.items()):
                if isinstance(subject, Attempt) and not subject._is_wanted:
                    schedule.cancel(key)

    def take_due(self, due: int, attempt: Attempt) -> None:
        """Queue an attempt that was scheduled for ``due``."""
        # If time has jumped over `due`, the attempt counts as made at that moment.
        if self._core.now() - due > MILLISECOND:
            attempt._flight.due = due
        self._enqueue([attempt])
