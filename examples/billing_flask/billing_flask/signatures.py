"""Is a webhook really from the messaging service?"""

from __future__ import annotations

import hashlib
import hmac
import time

TOLERANCE = 300
"""Seconds between signing and now, either way; an older one may be a replay."""


def is_genuine(header: str | None, body: bytes, secret: str) -> bool:
    """Check ``X-Signature: t=<unix seconds>,s=<hex>``, HMAC-SHA256 over ``"{t}.{body}"``."""
    fields = dict(part.strip().partition("=")[::2] for part in (header or "").split(","))
    timestamp, signature = fields.get("t", ""), fields.get("s", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    # The bytes as they came: parsing and writing the JSON again would change them.
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(expected.hexdigest().encode(), signature.encode())
