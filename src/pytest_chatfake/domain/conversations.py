"""Conversations: 24-hour sessions that start at the first delivery (§1, §2.4)."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import Literal, TypeAlias

from ..base.growing_index import GrowingIndex
from .ids import Ids

#: ``pending`` until the first delivery, ``open`` during the session, ``expired`` after it.
ConversationState: TypeAlias = Literal["pending", "open", "expired"]


class ConversationRecord:
    """What is known of one conversation: who it is with, and when its session runs.

    Attributes:
        id: A hex string (§2.4).
        recipient: The address of the person whose message started it.
        origin_type: For example ``marketing`` (§2.4).
        begun: Whether a message was sent in it; before that, it is a proposal.
        started_at: When its first message was delivered, in nanoseconds since the epoch;
            None while it is pending.
        expires_at: When the session is over; None while it is pending.
    """

    __slots__ = ("begun", "expires_at", "id", "origin_type", "recipient", "started_at")

    def __init__(self, id: str, recipient: str, origin_type: str) -> None:  # noqa: A002 - as §2.4
        self.id: str = id
        self.recipient: str = recipient
        self.origin_type: str = origin_type
        self.begun: bool = False
        self.started_at: int | None = None
        self.expires_at: int | None = None

    def state(self, now: int) -> ConversationState:
        """Return where the conversation stands at ``now``.

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

    __slots__ = ("_by_id", "_given_ids", "_ids", "_latest", "all")

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self.all: list[ConversationRecord] = []
        self._by_id: GrowingIndex[ConversationRecord, str]
        self._by_id = GrowingIndex(self.all, attrgetter("id"))
        # Ids that a test gave; one may be that of a place, and must not be given again.
        self._given_ids: set[str] = set()
        # By origin type and recipient: the one conversation, or several in the order of use, where
        # one that is used in turns with others is there several times.
        self._latest: defaultdict[str, dict[str, ConversationRecord | list[ConversationRecord]]]
        self._latest = defaultdict(dict)

    def find(self, id_: str) -> ConversationRecord | None:
        """Return the conversation of that id, if it was begun."""
        return self._by_id.first(id_)

    def number(self, conversation: ConversationRecord) -> int:
        """Return the place of a conversation among those that were begun, from 1; else 0."""
        return next((place + 1 for place in self._by_id.places(conversation.id)), 0)

    def current(self, recipient: str, origin_type: str, now: int) -> ConversationRecord | None:
        """Return the pending or open one that was used last, if there is one."""
        latest = self._latest[origin_type].get(recipient)
        if isinstance(latest, ConversationRecord):
            latest = [latest]
        while latest:
            if latest[-1].state(now) != "expired":
                return latest[-1]
            latest.pop()  # for good: nobody needs to look at it again
        return None

    def propose(self, recipient: str, origin_type: str) -> ConversationRecord:
        """Return a new conversation, under an id that no other has; it is not begun yet."""
        number = len(self.all) + 1
        while (id_ := self._ids.conversation % number) in self._given_ids:
            number += 1
        return ConversationRecord(id_, recipient, origin_type)

    def use(self, conversation: ConversationRecord) -> None:
        """Note that a message was sent in it; the first one begins it."""
        if not conversation.begun:
            conversation.begun = True
            self.all.append(conversation)
            if conversation.id != self._ids.conversation % len(self.all):
                self._given_ids.add(conversation.id)
        latest = self._latest[conversation.origin_type]
        known = latest.get(conversation.recipient)
        if known is None:
            latest[conversation.recipient] = conversation
        elif isinstance(known, list):
            if not known or known[-1] is not conversation:
                known.append(conversation)
        elif known is not conversation:
            latest[conversation.recipient] = [known, conversation]
