"""What is posted to an endpoint, and what the endpoint answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .endpoints import Endpoint
    from .events import Event


class WebhookRequest:
    """One attempt as the receiver sees it (§4.2).

    Attributes:
        event: The event that is posted, as it was emitted.
        body: The exact bytes of this attempt; a fault may have changed them.
        headers: The request's headers. A signer's headers are among them.
        timestamp: The moment of this attempt in Unix seconds, on the clock that the app sees.
        number: 1 for the first attempt at this event, 2 for the first retry.
        endpoint: Where the attempt goes.
    """

    __slots__ = ("body", "endpoint", "event", "headers", "number", "timestamp")

    def __init__(
        self,
        event: Event,
        body: bytes,
        headers: Mapping[str, str],
        timestamp: int,
        number: int,
        endpoint: Endpoint,
    ) -> None:
        self.event = event
        self.body = body
        self.headers = headers
        self.timestamp = timestamp
        self.number = number
        self.endpoint = endpoint

    @property
    def id(self) -> str:
        """The event's id, ``evt_...``; the same in every attempt at the event (assumed)."""
        return self.event.id

    def json(self) -> Any:
        """Return the body parsed as JSON, numbers as ``int`` and ``float`` as an app would.

        Raises:
            ValueError: The body is not JSON (a fault cut it off, for example).
        """
        return json.loads(self.body)


#: Takes the request of an attempt, returns the headers that sign it.
Signer: TypeAlias = Callable[[WebhookRequest], Mapping[str, str]]


class Answer(NamedTuple):
    """What came back from an attempt.

    ``error`` is set, and ``status`` None, when no answer came: refused, timed out, cut off. An
    exception that leaves an in-process app is raised by the target, and becomes an ``error`` where
    the attempt is recorded.
    """

    status: int | None
    body: bytes = b""
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether the endpoint took the event: the status is from 200 to 299."""
        return self.status is not None and 200 <= self.status <= 299
