"""Conversations: 24-hour sessions that start at the first delivery (§1, §2.4)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from ..base.growing_index import GrowingIndex
from .ids import Ids

#: ``pending`` until the first delivery, ``open`` during the session, ``expired`` after it.
ConversationState: TypeAlias = Literal["pending", "open", "expired"]


@dataclass(slots=True, eq=False)
class ConversationRecord:
    """One conversation: its person, its type, and when its session runs.

    Attributes:
        id: A hex string (§2.4).
        recipient: The address of the person whose message started it.
        origin_type: For example ``marketing`` (§2.4).
        begun: Whether a message was sent in it; before that, it is a proposal.
        started_at: When its first message was delivered, in nanoseconds since the epoch;
            None while it is pending.
        expires_at: When the session is over; None while it is pending.
    """

    id: str
    recipient: str
    origin_type: str
    begun: bool = False
    started_at: int | None = None
    expires_at: int | None = None

    def state(self, now: int) -> ConversationState:
        """Return the state at ``now``, in nanoseconds since the epoch.

        A session is over at the instant its time is up: ``[start, start + length)`` (assumed).
        """
        if self.expires_at is None:
            return "pending"
        return "open" if now < self.expires_at else "expired"


class Conversations:
    """The conversations of an account.

    Args:
        ids: Templates of the ids of those that the service begins.

    Attributes:
        all: Every conversation, in the order in which they were begun.
    """

    __slots__ = ("_by_id", "_given_ids", "_ids", "_used", "all")

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self.all: list[ConversationRecord] = []
        self._by_id = GrowingIndex(self.all, attrgetter("id"))
        # Ids that a test gave: the service must not give one of them again.
        self._given_ids: set[str] = set()
        # By person and type, in order of use; one that was used again is there again.
        self._used: defaultdict[tuple[str, str], list[ConversationRecord]] = defaultdict(list)

    def find(self, id_: str) -> ConversationRecord | None:
        """Return the conversation of that id, if it was begun."""
        return self._by_id.first(id_)

    def number(self, conversation: ConversationRecord) -> int:
        """Return the ordinal of a conversation among those that were begun, from 1; else 0."""
        return next((index + 1 for index in self._by_id.places(conversation.id)), 0)

    def current(self, recipient: str, origin_type: str, now: int) -> ConversationRecord | None:
        """Return the last used conversation that is pending or open, if there is one."""
        used = self._used[recipient, origin_type]
        while used and used[-1].state(now) == "expired":
            used.pop()  # for good: nobody needs to look at it again
        return used[-1] if used else None

    def propose(self, recipient: str, origin_type: str) -> ConversationRecord:
        """Return a new conversation, under an id that no other has; it is not begun yet."""
        number = len(self.all) + 1
        while (id_ := self._ids.conversation % number) in self._given_ids:
            number += 1
        return ConversationRecord(id_, recipient, origin_type)

    def use(self, conversation: ConversationRecord) -> None:
        """Note that a message was sent in a conversation; the first message begins it."""
        if not conversation.begun:
            conversation.begun = True
            self.all.append(conversation)
            if conversation.id != self._ids.conversation % len(self.all):
                self._given_ids.add(conversation.id)
        used = self._used[conversation.recipient, conversation.origin_type]
        if not used or used[-1] is not conversation:
            used.append(conversation)
