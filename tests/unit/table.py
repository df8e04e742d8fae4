"""The service's transitions (§3) written down a second time, for the tests alone.

Nothing here is taken from the package: where the two tables disagree, one of them is wrong.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import time_machine

from pytest_chatfake import ChatFake, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 1_767_268_800  # 2026-01-01T12:00:00Z

STATES = ("submitted", "sent", "delivered", "read", "failed", "dropped")
VERBS = ("accept", "reject", "deliver", "read", "fail")


class Outcome(NamedTuple):
    """What a legal verb does: the new status, the event, the ledger entries (first message)."""

    status: str
    event: str
    entries: tuple[str, ...]


LEGAL = {
    ("submitted", "accept"): Outcome("sent", "sent", ("hold",)),
    ("submitted", "reject"): Outcome("failed", "failed", ()),  # rule 4
    ("sent", "deliver"): Outcome("delivered", "delivered", ("release", "charge")),
    ("sent", "read"): Outcome("read", "read", ("release", "charge")),  # almost simultaneously
    ("sent", "fail"): Outcome("failed", "failed", ("release",)),
    ("delivered", "deliver"): Outcome("delivered", "delivered", ()),  # another device
    ("delivered", "read"): Outcome("read", "read", ()),
}
ILLEGAL = [(state, verb) for state in STATES for verb in VERBS if (state, verb) not in LEGAL]


def legal_verbs(state: str) -> set[str]:
    return {verb for verb in VERBS if (state, verb) in LEGAL}


@contextmanager
def frozen_fake(**config: Any) -> Iterator[ChatFake]:
    """A fake whose time stands at START."""
    with time_machine.travel(START, tick=False), ChatFake(**{"seed": "unit"} | config) as fake:
        yield fake


class Case:
    """A message brought into a state, and the two handles that know it."""

    def __init__(self, fake: ChatFake, state: str) -> None:
        self.fake = fake
        self.state = state
        self.submission = fake.submit_text("Hello")
        if state == "submitted":
            # A submission offers two verbs only; the message that it may become has the others.
            self.message = Message(self.submission._engine, self.submission._state)
            return
        self.message = self.submission.accept()
        # Later than the sending, so that a stamp that is touched is a stamp that differs.
        fake.clock.advance(seconds=1)
        match state:
            case "delivered":
                self.message.deliver()
            case "read":
                self.message.deliver().read()
            case "failed":
                self.message.fail()
            case "dropped":
                fake.clock.advance(days=30)
        fake.clock.advance(seconds=1)

    def perform(self, verb: str) -> Any:
        handle = self.submission if verb in {"accept", "reject"} else self.message
        return getattr(handle, verb)()
