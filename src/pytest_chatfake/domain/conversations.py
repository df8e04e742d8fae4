"""Conversations: 24-hour sessions that start at the first delivery (§1, §2.4)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from .ids import Ids

__all__ = ["Conversation", "ConversationState", "Conversations"]

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


class Conversations:
    """The conversations of an account, in the order in which they were begun.

    Args:
        ids: Who writes the id of a conversation that the service begins.
    """

    __slots__ = ("_all", "_ids", "_latest", "_named")

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._all: list[Conversation] = []
        # Those whose id is not the one of their place.
        self._named: dict[str, Conversation] = {}
        # By origin type and recipient: the one conversation, or several in the order of use, where
        # one that is used in turns with others is there several times.
        self._latest: defaultdict[str, dict[str, Conversation | list[Conversation]]]
        self._latest = defaultdict(dict)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self._all)

    def find(self, id_: str) -> Conversation | None:
        """Return the conversation of that id, if it was begun."""
        number = self._ids.conversation_number(id_)
        if 0 < number <= len(self._all) and self._all[number - 1].id == id_:
            return self._all[number - 1]
        return self._named.get(id_)

    def current(self, recipient: str, origin_type: str, now: int) -> Conversation | None:
        """Return the pending or open one that was used last, if there is one."""
        latest = self._latest[origin_type].get(recipient, [])
        if isinstance(latest, Conversation):
            latest = [latest]
        while latest:
            if latest[-1].state(now) != "expired":
                return latest[-1]
            latest.pop()  # for good: nobody needs to look at it again
        return None

    def new_id(self) -> str:
        """Return an id that no conversation has."""
        number = len(self._all) + 1
        while (id_ := self._ids.conversation(number)) in self._named:
            number += 1
        return id_

    def use(self, conversation: Conversation) -> None:
        """Note that a message was sent in it; the first one begins it."""
        latest = self._latest[conversation.origin_type]
        known = latest.get(conversation.recipient)
        if known is conversation:
            return
        if self.find(conversation.id) is None:
            self._all.append(conversation)
            if conversation.id != self._ids.conversation(len(self._all)):
                self._named[conversation.id] = conversation
        if known is None:
            latest[conversation.recipient] = conversation
        elif isinstance(known, Conversation):
            latest[conversation.recipient] = [known, conversation]
        elif not known or known[-1] is not conversation:
            known.append(conversation)
