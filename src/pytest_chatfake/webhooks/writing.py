"""Events to come: the bodies, with the ids that they will have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..domain.facts import Fact
from ..domain.messages import MessageState
from ..wire.bodies import EventWriter
from .events import Event, EventLog, OtherEvent
from .synthetic import Edit

#: An event to come and its body. It is made beforehand, because making it might fail.
Written: TypeAlias = tuple[Event, bytes]

#: The same, behind the fact that it tells of.
Told: TypeAlias = tuple[Fact, Event, bytes]


class Writing:
    """Writes events before they are emitted; the fake's lock is held.

    Args:
        writer: Writes bodies.

    Attributes:
        events: What was emitted so far: the ids of what comes follow from it.
    """

    __slots__ = ("_writer", "events")

    events: EventLog

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer

    def of_facts(
        self, facts: list[Fact], fields: Mapping[tuple[MessageState, str], str] | None
    ) -> list[Told]:
        """Write the events of facts that are about to become so.

        Args:
            facts: The facts.
            fields: More fields of the message resource, as JSON text, for each message and status;
                None: there are none.
        """
        told: list[Told] = []
        events = self.events
        for ahead, fact in enumerate(facts):
            event = events.upcoming(ahead)
            id_ = events.id_of(event, fact.message.number)
            more = "" if fields is None else fields[fact.message, fact.what]
            told.append((fact, event, self._writer.write(id_, fact, more)))
        return told

    def of_synthetic(self, fact: Fact, fields: str, status: str, edit: Edit) -> Written:
        """Write an event that the service would not emit: an honest body, edited."""
        event = self.events.upcoming()
        id_ = self.events.id_of(event, fact.message.number)
        return event, edit(self._writer.write(id_, fact, fields, status))

    def of_other(self, draft: OtherEvent, now: int) -> tuple[OtherEvent, Written]:
        """Write an event of another type, and give it its id."""
        id_ = draft.id or self.events.next_other_id()
        body = draft.body
        if body is None:
            body = self._writer.write_other(id_, draft.type, draft.key, draft.resource, now)
        return draft._replace(id=id_), (self.events.upcoming(), body)
