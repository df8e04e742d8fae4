"""What is posted to an endpoint, and what the endpoint answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..transport.client.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .endpoints import Endpoint
    from .events import Event


__all__ = ["Answer", "WebhookRequest"]


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
