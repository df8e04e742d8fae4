"""What the app needs to know."""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one app.

    Attributes:
        database: An SQLAlchemy URL with an async driver.
        messaging_url: Where the messaging service's API is.
        messaging_key: The account's API key.
        low_balance: Below this amount the inbox shows a warning.
        look_every: Seconds between two looks at the balance.
    """

    database: str
    messaging_url: str
    messaging_key: str
    low_balance: Decimal = Decimal(10)
    look_every: float = 300

    @classmethod
    def from_environment(cls) -> Self:
        """Read them from ``INBOX_DATABASE`` and so on."""
        return cls(
            database=os.environ.get("INBOX_DATABASE", "sqlite+aiosqlite:///inbox.sqlite3"),
            messaging_url=os.environ["INBOX_MESSAGING_URL"],
            messaging_key=os.environ["INBOX_MESSAGING_KEY"],
            low_balance=Decimal(os.environ.get("INBOX_LOW_BALANCE", "10")),
        )
