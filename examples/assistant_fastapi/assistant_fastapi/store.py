"""What the assistant remembers: conversations and its own answers. In memory, for brevity."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

#: A status never goes back.
_RANK = {"sent": 1, "delivered": 2, "read": 3, "failed": 3}


@dataclass
class Answer:
    """One answer of the assistant's.

    Attributes:
        external_id: Our own id of it, which comes back in every event.
        customer: Who gets it.
        status: What the service last said of it; ``queued`` before it said anything.
        service_id: The service's id of it, once it is known.
    """

    external_id: str
    customer: str
    status: str = "queued"
    service_id: str | None = None

    def learn(self, service_id: str, status: str) -> None:
        """Take note of what an event or the send call's answer says."""
        self.service_id = service_id
        if _RANK.get(status, 0) > _RANK.get(self.status, 0):
            self.status = status


@dataclass
class Store:
    """All that is remembered.

    Attributes:
        answers: The assistant's answers, by our own id.
        taken_over: The customers whom the owner talks to.
        seen: The incoming messages that were answered or deliberately not.
    """

    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    taken_over: set[str] = field(default_factory=set[str])
    seen: set[str] = field(default_factory=set[str])
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def begin(self, customer: str) -> Answer:
        """Remember an answer before it is sent: a webhook may be faster than the send call."""
        answer = Answer(f"answer-{next(self._numbers)}", customer)
        self.answers[answer.external_id] = answer
        return answer

    def is_new(self, incoming_id: str) -> bool:
        """Return whether an incoming message is seen for the first time, and remember it."""
        if incoming_id in self.seen:
            return False
        self.seen.add(incoming_id)
        return True
