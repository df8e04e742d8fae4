"""The bodies of events to come, with the ids that they will have."""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.facts import Fact
from ..wire.bodies import EventWriter
from .events import EventLog
from .synthetic import Edit, OtherEvent


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

    def of_facts(self, facts: list[Fact], fields: Mapping[str, str]) -> list[bytes]:
        """Write the events of facts that are about to become so.

        Args:
            facts: The facts.
            fields: More fields of the message resource, as JSON text, for each status.
        """
        bodies: list[bytes] = []
        for fact in facts:
            id_ = self.events.next_id(fact.message.number, len(bodies))
            bodies.append(self._writer.write(id_, fact, fields.get(fact.what, "")))
        return bodies

    def of_synthetic(self, fact: Fact, fields: str, status: str, edit: Edit) -> bytes:
        """Write an event that the service would not emit: an honest body, edited."""
        id_ = self.events.next_id(fact.message.number)
        return edit(self._writer.write(id_, fact, fields, status))

    def of_other(self, draft: OtherEvent, now: int) -> tuple[str, bytes]:
        """Give the id and the body of an event of another type."""
        id_ = draft.id or self.events.next_other_id()
        if draft.body is not None:
            return id_, draft.body
        return id_, self._writer.write_other(id_, draft.type, draft.key, draft.resource, now)
