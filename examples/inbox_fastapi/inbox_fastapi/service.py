"""The messaging service's HTTP API, as far as we use it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx

#: Made once: each new one reads all certificates of the machine.
TLS = httpx.create_ssl_context()


class ServiceError(Exception):
    """The service could not be asked, or its answer is no use."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What the account has left."""

    amount: Decimal
    currency: str


class MessagingService:
    """A client with a pool of connections; it belongs to the loop in which it is used.

    Args:
        url: Where the API is.
        key: The account's API key.
    """

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=url, headers={"X-API-Key": key}, timeout=2, verify=TLS
        )

    async def balance(self) -> Balance:
        """Read the account's balance.

        Raises:
            ServiceError: There is none to be had now; the message says why.
        """
        answer = await self._call("GET", "/v2/balance")
        try:
            return Balance(Decimal(answer["amount"]), str(answer["currency"]))
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise ServiceError("the answer is not a balance") from None

    async def send(self, to: str, body: str) -> str:
        """Send a message and return the service's id of it.

        Raises:
            ServiceError: It was refused, or nobody knows whether it was sent.
        """
        order = {"to": to, "type": "text", "text": {"body": body}}
        answer = await self._call("POST", "/v2/messages", order)
        try:
            return str(answer["id"])
        except (KeyError, TypeError):
            raise ServiceError("the answer has no message id") from None

    async def close(self) -> None:
        """Give up the connections."""
        await self._client.aclose()

    async def _call(self, method: str, path: str, payload: object = None) -> Any:
        try:
            response = await self._client.request(method, path, json=payload)
        except httpx.HTTPError as error:
            raise ServiceError(f"no answer ({type(error).__name__})") from error
        try:
            # Not response.json(): it reads numbers as floats.
            answer = json.loads(response.content, parse_float=Decimal)
        except ValueError:
            answer = None
        if not response.is_success:
            reason = answer["error"]["message"] if answer else ""
            raise ServiceError(f"{response.status_code} {reason}".strip())
        return answer
