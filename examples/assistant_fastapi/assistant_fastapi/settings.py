"""What the app needs to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one app.

    Attributes:
        messaging_url: Where the messaging service's API is.
        messaging_key: The account's API key.
    """

    messaging_url: str
    messaging_key: str
