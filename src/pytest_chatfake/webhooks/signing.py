"""Signatures of attempts: a signer takes the request and returns the headers that sign it.

The service's description shows no signing (§5 rule 4), so nothing is signed by default.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import timedelta
from math import isfinite
from string import Formatter
from typing import Any

from ..base.arguments import check_bytes, check_str
from .endpoints import Signer, WebhookRequest


def check_signer(value: object) -> None:
    """Raise a TypeError for a signer that is neither None nor a function."""
    if value is not None and not callable(value):
        raise TypeError(
            f"signer must be a function that takes the WebhookRequest and returns headers, "
            f"not {value!r}"
        )


def sign(signer: Signer, request: WebhookRequest) -> dict[str, str]:
    """Return the headers that a signer gives; raise a TypeError if they are not text to text."""
    headers: Any = signer(request)
    items: list[Any] = [*headers.items()] if isinstance(headers, Mapping) else [(None,)]
    if not all(isinstance(part, str) for item in items for part in item):
        raise TypeError(
            f"the signer {signer!r} must return a mapping of header names to texts, "
            f"and it returned {headers!r}"
        )
    return {str.__str__(name): str.__str__(value) for name, value in items}


class HmacSigner:
    """Signs with HMAC-SHA256 over ``{timestamp}.{body}``, as many services do (assumed).

    Args:
        secret: The shared secret, text or bytes.
        header: The name of the header.
        format: The header's value; ``{timestamp}`` is in Unix seconds and ``{signature}`` in
            lower-case hex.
        offset: What is added to the timestamp: negative for a stale one, positive for one from
            the future; a ``timedelta`` or seconds.

    Raises:
        TypeError: The secret, the header or the format is of the wrong kind.
        ValueError: The secret or the header is empty, or the format names another field.
    """

    def __init__(
        self,
        secret: str | bytes,
        *,
        header: str = "X-Signature",
        format: str = "t={timestamp},s={signature}",  # noqa: A002 - the face's own name
        offset: timedelta | float = 0,
    ) -> None:
        self._secret = _secret(secret)
        self._header = _header(header)
        self._format = _format(format)
        self._offset = _offset(offset)

    def __repr__(self) -> str:
        return f"HmacSigner(..., header={self._header!r}, format={self._format!r})"

    def __call__(self, request: WebhookRequest) -> dict[str, str]:
        """Return the header that signs ``request``."""
        timestamp = request.timestamp + self._offset
        signed = b"%d.%b" % (timestamp, request.body)
        signature = hmac.new(self._secret, signed, hashlib.sha256).hexdigest()
        return {self._header: self._format.format(timestamp=timestamp, signature=signature)}


class StandardWebhooksSigner:
    """Signs as the Standard Webhooks convention says: over ``{id}.{timestamp}.{body}`` (assumed).

    It sets ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature`` (``v1,`` and base64).

    Args:
        secret: ``whsec_`` and base64, the base64 alone, or the secret's bytes.
        offset: What is added to the timestamp, as for :class:`HmacSigner`.

    Raises:
        TypeError: The secret is neither text nor bytes.
        ValueError: The secret is empty, or the text is not base64.
    """

    def __init__(self, secret: str | bytes, *, offset: timedelta | float = 0) -> None:
        key = _secret(secret)
        if isinstance(secret, str):
            try:
                key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
            except (binascii.Error, ValueError):
                raise ValueError(
                    "secret must be 'whsec_' and base64, or the secret's own bytes, "
                    "and this text is not base64"
                ) from None
            _secret(key)
        self._secret = key
        self._offset = _offset(offset)

    def __repr__(self) -> str:
        return "StandardWebhooksSigner(...)"

    def __call__(self, request: WebhookRequest) -> dict[str, str]:
        """Return the three headers that sign ``request``."""
        timestamp = request.timestamp + self._offset
        signed = b"%b.%d.%b" % (request.id.encode(), timestamp, request.body)
        signature = base64.b64encode(hmac.digest(self._secret, signed, "sha256")).decode()
        return {
            "webhook-id": request.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": f"v1,{signature}",
        }


def _secret(secret: object) -> bytes:
    key = check_bytes(secret, "secret")
    if not key:
        raise ValueError("secret must not be empty")
    return key


def _header(header: object) -> str:
    name = check_str(header, "header")
    if not re.fullmatch(r"[!-9;-~]+", name):
        raise ValueError(f"header must be a header's name such as 'X-Signature', not {name!r}")
    return name


def _format(template: object) -> str:
    text = check_str(template, "format")
    fields = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    if "signature" not in fields or not fields <= {"timestamp", "signature"}:
        raise ValueError(
            f"format must contain {{signature}}, may contain {{timestamp}}, and nothing else in "
            f"braces: {text!r} does not fit"
        )
    return text


def _offset(offset: object) -> int:
    if isinstance(offset, timedelta):
        offset = offset.total_seconds()
    if isinstance(offset, bool) or not isinstance(offset, (int, float)):
        raise TypeError(f"offset must be a timedelta or seconds, not {offset!r}")
    if not isfinite(offset):
        raise ValueError(f"offset must be a finite length of time, not {offset!r}")
    return int(offset)
