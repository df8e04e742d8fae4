"""The service's transitions (§3) written down a second time, for the tests alone.

Nothing here is taken from the package: where the two tables disagree, one of them is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

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


def legal_verbs(state):
    return {verb for verb in VERBS if (state, verb) in LEGAL}
