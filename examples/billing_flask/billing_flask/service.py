"""The messaging service's HTTP API, as far as we use it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import current_app

from . import values

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal


class ServiceError(Exception):
    """The service could not be asked, or its answer is no use."""


class RateLimitError(ServiceError):
    """The service asks us to come back later."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__(f"429 rate limited until {values.time_text(retry_at)}")
        self.retry_at = retry_at


@dataclass(frozen=True, slots=True)
class Balance:
    """What the account has left."""

    available: Decimal
    currency: str


def balance() -> Balance:
    """Read the account's balance.

    Raises:
        ServiceError: There is no balance to be had now; the message says why.
    """
    answer = _call("GET", "/v2/balance")
    try:
        return Balance(values.money(answer["amount"]), str(answer["currency"]))
    except (KeyError, TypeError, ValueError):
        raise ServiceError("the answer is not a balance") from None


def send_text(to: str, body: str) -> str:
    """Send a text message and return the service's id of it.

    Raises:
        ServiceError: The message was refused, or nobody knows whether it was sent.
    """
    answer = _call("POST", "/v2/messages", {"to": to, "type": "text", "text": {"body": body}})
    try:
        return str(answer["id"])
    except (KeyError, TypeError):
        raise ServiceError("the answer has no message id") from None


def _call(method: str, path: str, payload: object = None) -> Any:
    # Settings are read for each call: a rotated key takes effect at once.
    config = current_app.config
    base = urlsplit(config["MESSAGING_BASE_URL"])
    if not base.hostname:
        raise ServiceError("MESSAGING_BASE_URL is not set")
    connection_class = HTTPSConnection if base.scheme == "https" else HTTPConnection
    connection = connection_class(
        base.hostname, base.port, timeout=float(config["MESSAGING_TIMEOUT"])
    )
    headers = {"X-API-Key": config["MESSAGING_API_KEY"], "Accept": "application/json"}
    body = None
    if payload is not None:
        body = json.dumps(payload).encode()
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, base.path.rstrip("/") + path, body, headers)
        with connection.getresponse() as response:
            status, retry_after = response.status, response.headers.get("Retry-After")
            raw = response.read()
    except TimeoutError:
        raise ServiceError("no answer in time") from None
    except (OSError, HTTPException) as error:
        raise ServiceError(f"no complete answer ({type(error).__name__})") from error
    finally:
        connection.close()
    if status == 429:
        raise RateLimitError(_retry_at(retry_after))
    if not 200 <= status < 300:
        raise ServiceError(f"{status} {_error_message(raw)}".strip())
    try:
        return values.load_json(raw)
    except ValueError:
        raise ServiceError("the answer is not JSON") from None


def _error_message(raw: bytes) -> str:
    try:
        return str(values.load_json(raw)["error"]["message"])
    except (KeyError, TypeError, ValueError):
        return ""


def _retry_at(header: str | None) -> datetime:
    text = (header or "").strip()
    try:
        if not text.isdigit():
            return parsedate_to_datetime(text)
        return values.now() + timedelta(seconds=int(text))
    except (ValueError, OverflowError):
        return values.now() + timedelta(minutes=1)
