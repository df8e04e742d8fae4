"""What the right apps have in common: how they send, and whose webhooks they take."""

from __future__ import annotations

import hmac
import json
import time
import urllib.request

SECRET = "a secret of ours"
RANK = {"submitted": 0, "sent": 1, "delivered": 2, "read": 3, "failed": 3}


def is_genuine(header: str, body: bytes) -> bool:
    """Whether the service has signed a body, no longer than five minutes ago."""
    fields = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    stamp = fields.get("t", "0")
    good = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, "sha256").hexdigest()
    return hmac.compare_digest(good, fields.get("s", "")) and abs(time.time() - int(stamp)) <= 300


class Service:
    """The service's send call, as an app makes it."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url + "/v2/messages"
        self.headers = {"X-API-Key": key, "Content-Type": "application/json"}

    def send(self, to: str, text: str, key: str) -> str:
        """Send a text, once for each key, and return the message's id."""
        body = json.dumps({"to": to, "type": "text", "text": {"body": text}}).encode()
        headers = {**self.headers, "Idempotency-Key": key}
        call = urllib.request.Request(self.url, body, headers)
        with urllib.request.urlopen(call, timeout=60) as response:
            return str(json.load(response)["id"])
