"""The outbox: writes, records and queues events. It sends nothing.

All this happens under the fake's lock, in the middle of a verb. An event is written before the
change that it reports, because an ``outbound=`` function may refuse its body, and emitted after the
change. Later, the :class:`.Drain` takes it from the queue and attempts it without the lock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from ..base.calling_line import Line
from ..base.growing_index import GrowingIndex
from ..base.history import History, Record
from ..base.marks import Mark
from ..domain.facts import Fact
from ..domain.ids import Ids
from ..domain.instants import Moment, shown
from ..domain.messages import STATUSES, MessageState
from ..domain.schedule import Schedule
from ..wire.bodies import EventWriter
from .attempts import Attempt
from .core import Core
from .endpoints import Endpoint, Endpoints
from .events import CustomEvent, Event, OtherEvent
from .outbound import Outbound
from .queue import Queue
from .synthetic import Edit

#: Forgeries' ids count down from here, so that no event ever has the same id.
_LAST_ID = 0xFFFF_FFFF


class Outbox:
    """A fake's events since it was made or last reset, on their way to its endpoints.

    Args:
        core: What the parts of the fake share.
        ids: Templates of the events' ids.
        history: Where the events are recorded.
        schedule: Where attempts are scheduled.
        endpoints: The endpoints.
        writer: Writes the events.
        per_message: Whether all events of a message have the same id.
        outbound: The ``outbound=`` function, if there is one.
        tick: How much later each event shows that it happened, in nanoseconds.

    Attributes:
        endpoints: As given; a reset keeps them.
        events: The events that were emitted, in order.
        attempts: The attempts that have ended, in the order in which they ended.
        seen: How many of these attempts the test has read.
        queue: The attempts that are still to be made.
        unheard: Events that no endpoint listened for.
    """

    def __init__(
        self,
        core: Core[Any],
        ids: Ids,
        history: History,
        schedule: Schedule,
        endpoints: Endpoints,
        writer: EventWriter,
        *,
        per_message: bool,
        outbound: Callable[[Any], object] | None,
        tick: int,
    ) -> None:
        self._core = core
        self._ids = ids
        self._tick = tick
        self._writer = writer
        self._per_message = per_message
        self._outbound = None if outbound is None else Outbound(core, outbound)
        self._history = history
        self.endpoints: Endpoints = endpoints
        self.queue: Queue = Queue(core, schedule)
        self.events: list[Event] = []
        self.attempts: list[Attempt] = []
        self.seen: int = 0
        self._by_message = GrowingIndex(self.events, attrgetter("_message"))
        # How many events are about messages, whose ids have their own sequence.
        self._of_messages = 0
        self._custom: Counter[str] = Counter()  # how many events there are of each other type
        self._recorded: dict[str, int] = {}  # the numbers of recorded messages, by id
        self.unheard: list[Event] = []
        self._last = 0  # the moment in the last event

    def events_of(self, message: MessageState | None) -> Sequence[Event]:
        """Return the events about a message, in order; for None, those about no message."""
        return self._by_message.all(message)

    @property
    def queued(self) -> list[Event]:
        """The events that are ready, and that an endpoint still wants, each once."""
        ready = self.queue.ready
        return [*dict.fromkeys(attempt.event for attempt in ready if attempt._is_wanted)]

    # Writing

    def later(self, now: int) -> int:
        """Return the present, which the next events show a tick after the last ones, or later."""
        return Moment.of(now, max(now, self._last + self._tick)) if self._tick else now

    def write_facts(self, facts: Sequence[Fact], fields: str, line: Line) -> list[Event]:
        """Write the events for facts that are about to be applied, with the same extra fields."""
        writer = self._writer
        events: list[Event] = []
        for number, fact in enumerate(facts, self._of_messages + 1):
            message, what = fact.message, fact.what
            id_ = self._ids.event % (message.number if self._per_message else number)
            body = writer.write(id_, fact, fields)
            events.append(
                Event(
                    id_,
                    writer.event_type,
                    what,
                    body,
                    line,
                    fact.at,
                    False,
                    message,
                    fact.rule,
                    (),
                    self._outbound,
                )
            )
        return events

    def write_synthetic(
        self, fact: Fact, fields: str, status: str, edit: Edit | bytes, type_: str, line: Line
    ) -> Event:
        """Write an event that the service would not send: a true body, edited."""
        number = fact.message.number if self._per_message else self._of_messages + 1
        id_ = self._ids.event % number
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
        return OtherEvent(
            id_, type_, status or None, body, line, now, _recorded_message=recorded_id
        )

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

    @property
    def _next_custom(self) -> int:
        return self._custom.total() + 1

    def next_inbound_id(self) -> str:
        """Return the id of the next message that a person writes; its event has the same number."""
        return self._ids.inbound % self._next_custom

    # Emitting

    def emit(self, event: Event, cause: Record) -> None:
        """Emit an event."""
        if isinstance(event, OtherEvent):
            self._number(event)
        else:
            self._of_messages += 1
        self._history.add(event, cause)
        self.events.append(event)
        if self._tick:
            self._last = max(self._last, shown(event.moment))
        self._queue_attempts(event)

    def _number(self, event: OtherEvent) -> None:
        self._custom[event.type] += 1
        event._ordinal = self._custom[event.type]
        if event._recorded_id:
            number = len(self._recorded) + 1
            event._recorded_number = self._recorded.setdefault(event._recorded_id, number)

    def redeliver(self, event: Event, line: Line, cause: Record) -> None:
        """Queue a past event again."""
        self._queue_attempts(event, cause, (Mark("redeliver", "again", line),))

    def forge(self, attempt: Attempt) -> Iterator[None]:
        """Make an attempt with a new event id, regardless of faults and pauses; a step."""
        attempt._other_id = self._ids.event % (_LAST_ID - len(self.attempts))
        self.queue.ready.append(attempt)
        yield

    def as_of_another_message(self, event: Event, body: bytes) -> bytes:
        """Return an event's body with the ids of a message that doesn't exist.

        A body without the fake's own ids of its message stays the same.
        """
        ids, number = self._ids, _LAST_ID - len(self.attempts)
        for template in (ids.message, ids.original):
            if event._message is not None:
                own, new = template % event._number, template % number
                body = body.replace(own.encode(), new.encode())
        if event._message is None:  # a person may have written it
            prefix, new = ids.inbound.removesuffix("%08x").encode(), ids.inbound % number
            body = re.sub(re.escape(prefix) + rb"[0-9a-f]{8}", new.encode(), body)
        return body

    def as_of_another_status(self, event: Event, body: bytes) -> bytes:
        """Return an event's body with a status of which its message has no event yet, if any."""
        had = {other.status for other in self.events_of(event._message)}
        new = next((status for status in STATUSES if status not in had), event.status)
        if event._message is None or not (event.status and new):
            return body
        return body.replace(f'"status":"{event.status}"'.encode(), f'"status":"{new}"'.encode())

    def _queue_attempts(
        self, event: Event, cause: Record | None = None, marks: tuple[Mark, ...] = ()
    ) -> None:
        if not event._is_posted:
            return
        depth, is_again = self._core.depth, cause is not None
        attempts = [
            Attempt(event, endpoint, depth, 1, cause, _was_asked=is_again, _marks=marks)
            for endpoint in self.endpoints.listening(event.type)
        ]
        if attempts:
            self.queue.add(attempts)
        else:
            self.unheard.append(event)

    def disconnect(self, endpoint: Endpoint) -> None:
        """Disconnect an endpoint, and forget its attempts."""
        self.endpoints.disconnect(endpoint)
        self.queue.forget_unwanted()
