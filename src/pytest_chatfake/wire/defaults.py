"""Defaults of what events show and of what is charged (assumed)."""

from __future__ import annotations

from typing import Final

#: The three-letter code of every amount (§2.1).
CURRENCY: Final = "USD"

#: The origin type of conversations (§2.4).
ORIGIN_TYPE: Final = "marketing"

#: The ``type`` of conversations (§2.4).
CONVERSATION_TYPE: Final = "REGULAR"

#: The address that messages come from.
SENDER: Final = "+15550199"

#: What is charged (§1).
CHARGE_PER: Final = "conversation"

#: Whether each event has its own id (§2.2).
EVENT_IDS: Final = "unique"
