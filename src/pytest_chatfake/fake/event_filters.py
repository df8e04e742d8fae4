"""The arguments with which all webhook faults select events."""

from __future__ import annotations

from typing import Any, TypedDict

from ..base.arguments import check_names, check_str, cited, unexpected
from ..engine.engine import Engine
from ..webhooks.endpoints import Endpoint
from .handles import Message, state_of


class EventFilter(TypedDict, total=False):
    """The arguments of all webhook faults that select which events they affect.

    Attributes:
        times: How many events to affect, 1 by default; if None, all until the fault is removed.
        start: The first matching event to affect; 1, the default, is the next.
        message: Affect only events of this message.
        status: Affect only events with this status.
        endpoint: Affect only this endpoint.
        type: Affect only events of this type.
    """

    times: int | None
    start: int
    message: Message | None
    status: str | None
    endpoint: Endpoint | None
    type: str | None


def checked(where: EventFilter, call: str, engine: Engine) -> dict[str, Any]:
    """Return the checked arguments, with the message's state in place of its handle."""
    engine.refuse_closed()
    check_names(where, EventFilter.__annotations__, call)
    status, endpoint, message = where.get("status"), where.get("endpoint"), where.get("message")
    if status is not None:
        check_str(status, "status")  # any string: emit() may use it
    event_type = where.get("type")
    if event_type is not None:
        foreign = check_str(event_type, "type") != engine.settings.naming.event_type
        if foreign and not (status is None and message is None):
            raise ValueError(
                f"message= and status= select message events, but type={cited(event_type)} "
                f"selects others. Pass one or the other."
            )
    if not isinstance(endpoint, Endpoint | None):
        raise TypeError(unexpected("endpoint", "an Endpoint, as connect() returns it", endpoint))
    if endpoint is not None and endpoint not in engine.outbox.endpoints:
        raise ValueError(unexpected("endpoint", "one that is connected to this fake", endpoint))
    return {
        **where,
        "message": None if message is None else state_of(message, engine),
    }
