"""The kinds of faults, with their effects and marks."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

FaultKind: TypeAlias = Literal[
    "duplicate",
    "drop",
    "delay",
    "tamper",
    "sign",
    "reorder",
    "lose_response",
    "refuse",
    "crash",
    "error",
    "concurrently",
    "evolve",
]


class Effect(NamedTuple):
    """What a fault does to an attempt.

    Attributes:
        mark: What its mark says, in a word or two.
        reaches_app: Whether the app gets the event.
        fails: Whether the attempt counts as failed, because the test said so.
        is_wrong: Whether the app has reason to refuse the event.
        combines: Whether other faults may have the same attempt.
    """

    mark: str
    reaches_app: bool = True
    fails: bool = False
    is_wrong: bool = False
    combines: bool = False


#: By the kind of a fault: the verb that sets it up, or the argument of ``connect()``.
EFFECTS: Final[dict[str, Effect]] = {
    "duplicate": Effect("duplicate", combines=True),
    "drop": Effect("dropped", reaches_app=False, fails=True),
    "delay": Effect("delayed"),
    "reorder": Effect("reordered"),
    "lose_response": Effect("response lost", fails=True),
    "refuse": Effect("refused", reaches_app=False, fails=True),
    "crash": Effect("crashed", fails=True),
    "error": Effect("error raised", fails=True),
    "concurrently": Effect("at the same time"),
    "evolve": Effect("evolved", combines=True),
    "tamper": Effect("tampered", is_wrong=True, combines=True),
    "sign": Effect("wrong signature", is_wrong=True, combines=True),
    "disable_after": Effect("endpoint disabled", reaches_app=False, fails=True),
    "forgery": Effect("forgery check", fails=True),
}

#: Attempts of these kinds are recorded, and were never made.
NOT_ATTEMPTED: Final = frozenset({"drop", "disable_after"})

_NONE: Final = Effect("")


def effect_of(fault: str | None) -> Effect:
    """Return the effect of a kind of fault; None: there was no fault."""
    return EFFECTS.get(fault or "", _NONE)
