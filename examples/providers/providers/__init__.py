"""Shapes of providers to copy: what each one posts, how it signs, and how it takes a send call."""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime
from typing import Any

from pytest_chatfake import Naming

#: The addresses stand in the service's own events, so that ``outbound`` finds them there.
NAMING = Naming(to_key="to", from_key="from")


def unix(stamp: str) -> int:
    """Turn the service's time into Unix seconds."""
    return int(datetime.fromisoformat(stamp).timestamp())


def basic_password(headers: Any) -> str | None:
    """Find the key in Basic authentication, where it is the password."""
    scheme, _, encoded = headers.get("Authorization", "").partition(" ")
    return b64decode(encoded).decode().partition(":")[2] if scheme == "Basic" else None
