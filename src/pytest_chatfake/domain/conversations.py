"""Conversations: 24-hour sessions that start at the first delivery (§1, §2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Conversation", "ConversationState"]

#: ``pending`` until the first delivery, ``open`` during the session, ``expired`` after it.
ConversationState: TypeAlias = Literal["pending", "open", "expired"]


class Conversation:
    """One conversation: who it is with, and when its session runs.

    Attributes:
        id: A hex string (§2.4).
        recipient: The address of the person whose message started it.
        origin_type: For example ``marketing`` (§2.4).
        started_at: When its first message was delivered, in nanoseconds since the epoch;
            None while it is pending.
        expires_at: When the session is over; None while it is pending.
    """

    __slots__ = ("expires_at", "id", "origin_type", "recipient", "started_at")

    def __init__(self, id: str, recipient: str, origin_type: str) -> None:  # noqa: A002 - as §2.4
        self.id = id
        self.recipient = recipient
        self.origin_type = origin_type
        self.started_at: int | None = None
        self.expires_at: int | None = None

    def state(self, now: int) -> ConversationState:
        """Return where the conversation stands at ``now``.

        A session is over at the instant its time is up: ``[start, start + length)`` (assumed).
        """
        if self.expires_at is None:
            return "pending"
        return "open" if now < self.expires_at else "expired"

    def start(self, now: int, length: int) -> None:
        """Start the session: the conversation's first delivery just happened (§1)."""
        self.started_at = now
        self.expires_at = now + length
