"""Conversations: 24-hour sessions that start at the first delivery (§1, §2.4)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias

from ..base.growing_index import GrowingIndex
from .ids import Ids

#: ``pending`` until the first delivery, ``open`` during the session, ``expired`` after it.
SessionState: TypeAlias = Literal["pending", "open", "expired"]


@dataclass(slots=True, eq=False)
class ConversationState:
    """One conversation with a person, and when its session runs.

    Attributes:
        id: A hex string (§2.4).
        recipient: The address that the first message went to.
        origin_type: The origin type, such as ``marketing`` (§2.4).
        begun: Whether a message was sent in it; until then, it is only proposed.
        started_at: When its first message was delivered, in nanoseconds since the epoch; None while
            it is pending.
        expires_at: When the session ends; None while it is pending.
    """

    id: str
    recipient: str
    origin_type: str
    begun: bool = False
    started_at: int | None = None
    expires_at: int | None = None

    def state(self, now: int) -> SessionState:
        """Return the state at a moment, in nanoseconds since the epoch.

        The end is exclusive: at ``expires_at``, the session is over (assumed).
        """
        if self.expires_at is None:
            return "pending"
        return "open" if now < self.expires_at else "expired"


class Conversations:
    """The conversations of an account.

    Args:
        ids: Templates of the service's ids.

    Attributes:
        all: Every conversation, in the order in which they began.
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self.all: list[ConversationState] = []
        self._by_id = GrowingIndex(self.all, attrgetter("id"))
        # By person and type, in order of use, so a conversation may be listed repeatedly.
        self._used: defaultdict[tuple[str, str], list[ConversationState]] = defaultdict(list)

    def find(self, id_: str) -> ConversationState | None:
        """Return the conversation with this id, if it has begun."""
        return self._by_id.first(id_)

    def number(self, conversation: ConversationState) -> int:
        """Return the number of a conversation, from 1; 0 if it has not begun."""
        return next((index + 1 for index in self._by_id.places(conversation.id)), 0)

    def current(self, recipient: str, origin_type: str, now: int) -> ConversationState | None:
        """Return the pending or open conversation that was used last, if any."""
        used = self._used[recipient, origin_type]
        while used and used[-1].state(now) == "expired":
            used.pop()  # an expired one never opens again
        return used[-1] if used else None

    def propose(self, recipient: str, origin_type: str) -> ConversationState:
        """Return a new conversation with an unused id; it has not begun yet."""
        number = len(self.all) + 1
        # The service must not assign an id that a test has already chosen.
        while self.find(id_ := self._ids.conversation % number) is not None:
            number += 1
        return ConversationState(id_, recipient, origin_type)

    def use(self, conversation: ConversationState) -> None:
        """Note that a message was sent in a conversation, which begins with its first message."""
        if not conversation.begun:
            conversation.begun = True
            self.all.append(conversation)
        used = self._used[conversation.recipient, conversation.origin_type]
        if not used or used[-1] is not conversation:
            used.append(conversation)
