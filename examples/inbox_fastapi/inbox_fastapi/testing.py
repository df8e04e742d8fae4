"""For tests: the app as its users see it, through its HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


class Inbox:
    """Asks the app, and insists that it answers well."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def message(self, message_id: str) -> dict[str, Any]:
        """Return what the app knows about a message."""
        shown: dict[str, Any] = await self._get(f"/messages/{message_id}")
        return shown

    async def messages(self) -> list[dict[str, Any]]:
        """Return what the app knows about all messages."""
        shown: list[dict[str, Any]] = await self._get("/messages")
        return shown

    async def listed(self, status: str) -> list[str]:
        """Return the texts of the messages with this status."""
        return [message["body"] for message in await self._get(f"/messages?status={status}")]

    async def balance(self) -> dict[str, Any]:
        """Return what the app knows about the balance."""
        shown: dict[str, Any] = await self._get("/balance")
        return shown

    async def reply(self, to: str, body: str) -> str:
        """Have the app send a message; return the messaging service's id of it."""
        response = await self._client.post("/replies", json={"to": to, "body": body})
        assert response.status_code == 202, response.text
        message_id: str = response.json()["id"]
        return message_id

    async def _get(self, path: str) -> Any:
        response = await self._client.get(path)
        assert response.status_code == 200, response.text
        return response.json()
