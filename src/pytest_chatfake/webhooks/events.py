"""What is emitted, and what became of it: events and attempts, as they were recorded."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..domain.instants import instant

if TYPE_CHECKING:
    from datetime import datetime

    from ..callsite import Line
    from .endpoints import Endpoint
    from .requests import Answer

__all__ = ["Attempt", "Event"]


class Event:
    """One event that the service emitted (§2.2, §6), whoever listens.

    Attributes:
        id: The event's identifier, ``evt_...``.
        type: For example ``chat.message.updated``.
        status: The message's status in it.
        message_id: The service's id of the message.
        body: The exact bytes that every attempt at it sends.
        moment: When it was emitted, in nanoseconds since the epoch.
        line: The line of the test that caused it.
        forged: Whether ``emit`` made it, and the service would not have.
    """

    __slots__ = ("body", "forged", "id", "line", "message_id", "moment", "status", "type")

    def __init__(
        self,
        id: str,  # noqa: A002 - the service's own name for it
        type: str,  # noqa: A002 - likewise
        status: str,
        message_id: str,
        moment: int,
        body: bytes,
        line: Line,
        forged: bool = False,
    ) -> None:
        self.id = id
        self.type = type
        self.status = status
        self.message_id = message_id
        self.moment = moment
        self.body = body
        self.line = line
        self.forged = forged

    def __repr__(self) -> str:
        return f"<Event {self.id} {self.status} of message {self.message_id}>"

    @property
    def create_time(self) -> datetime:
        """When it was emitted: aware, UTC, to the microsecond (the body shows milliseconds)."""
        return instant(self.moment)

    def json(self) -> Any:
        """Return the body parsed as JSON, with every fraction as an exact ``Decimal``.

        Raises:
            ValueError: The body is not JSON (it was emitted broken on purpose).
        """
        return json.loads(self.body, parse_float=Decimal)


class Attempt:
    """One attempt to bring an event to an endpoint, and how it ended.

    Attributes:
        event: The event.
        number: 1 for the first attempt, 2 for the first retry.
        endpoint: Where it went.
        fault: The kind of the last fault that shaped it: ``"duplicate"``, ``"drop"``,
            ``"delay"``, ``"tamper"`` or ``"sign"``; None without.
        moment: When it was made, in nanoseconds since the epoch.
    """

    __slots__ = ("_answer", "endpoint", "event", "fault", "moment", "number")

    def __init__(
        self,
        event: Event,
        number: int,
        endpoint: Endpoint,
        answer: Answer,
        fault: str | None,
        moment: int,
    ) -> None:
        self.event = event
        self.number = number
        self.endpoint = endpoint
        self._answer = answer
        self.fault = fault
        self.moment = moment

    def __repr__(self) -> str:
        return f"<Attempt {self.number} at {self.event.id} ({self.event.status}): {self.outcome}>"

    @property
    def at(self) -> datetime:
        """When it was made: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def status_code(self) -> int | None:
        """The answer's status; None if no answer came."""
        return self._answer.status

    @property
    def body(self) -> bytes:
        """The answer's body."""
        return self._answer.body

    @property
    def error(self) -> BaseException | None:
        """What went wrong, if no answer came or an in-process app raised."""
        return self._answer.error

    @property
    def ok(self) -> bool:
        """Whether the endpoint took the event: it answered with a status from 200 to 299."""
        status = self._answer.status
        return status is not None and 200 <= status <= 299

    @property
    def outcome(self) -> str:
        """How it ended, in a few words."""
        if self.fault == "drop":
            return "dropped by a fault"
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}".rstrip(": ")
        return f"answered {self.status_code}"
