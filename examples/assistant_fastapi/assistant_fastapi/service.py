"""The messaging service's send call."""

from __future__ import annotations

from typing import Any

import httpx

#: Made once: each new one reads all certificates of the machine.
TLS = httpx.create_ssl_context()


class NotSentError(Exception):
    """The service has taken nothing: the same message can be sent later."""


class MessagingService:
    """A client with a pool of connections.

    Args:
        url: Where the API is.
        key: The account's API key.
    """

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=url, headers={"X-API-Key": key}, timeout=5, verify=TLS
        )

    async def send(self, to: str, body: str, external_id: str) -> dict[str, Any]:
        """Send a text and return the message resource.

        Raises:
            NotSentError: The service is too busy, or doesn't run. After any other error, nobody
                knows whether the message was sent.
        """
        order = {"to": to, "type": "text", "text": {"body": body}, "externalId": external_id}
        response = await self._client.post("/v2/messages", json=order)
        if response.status_code in {429, 503}:
            raise NotSentError(f"status {response.status_code}")
        response.raise_for_status()
        resource: dict[str, Any] = response.json()
        return resource

    async def close(self) -> None:
        """Give up the connections."""
        await self._client.aclose()
