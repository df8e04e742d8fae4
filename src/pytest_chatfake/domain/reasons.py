"""Why a message costs what it does: the rules behind facts, each with its reasons.

A fact gets its rule when it is decided. A reason either names its section of the service's
description, or says that it is assumed and which setting changes it.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias


class Reason(NamedTuple):
    """One reason of a rule.

    Attributes:
        text: A sentence, with gaps for ``{amount}``, ``{conversation}``, ``{recipient}`` and
            ``{starter}`` (the message that was charged for the conversation).
        basis: A section such as ``§1``, or ``assumed``.
        setting: What a test writes to change the assumption; empty if nothing does.
    """

    text: str
    basis: str
    setting: str = ""


class Rule(NamedTuple):
    """The rule behind a fact.

    Attributes:
        key: The rule's name.
        reasons: The reasons, in order.
    """

    key: str
    reasons: tuple[Reason, ...]


#: What is charged: a conversation, at its first delivery (§1), or each message (assumed).
ChargePer: TypeAlias = Literal["conversation", "message"]

#: Why a delivery is charged.
CHARGED_BY: Final[dict[ChargePer, str]] = {
    "conversation": "§1",
    "message": "assumed: charge_per='message'",
}

#: How a message got its conversation: began a new one, joined one, or was given one by the test.
Joining: TypeAlias = Literal["new", "joined", "given"]

#: Every rule.
RULES: Final[list[Rule]] = []


def _rule(key: str, *reasons: Reason) -> Rule:
    rule = Rule(key, reasons)
    RULES.append(rule)
    return rule


def _assumed(text: str, setting: str = "") -> Reason:
    return Reason(text, "assumed", setting)


# Sent: §3, first row

_BEGINS = Reason("it starts {conversation}, which costs nothing until a delivery", "§1")
_HELD = Reason("its price, {amount}, is held until it is delivered", "§3 rule 5")
_FREE = Reason("its price is 0: nothing is held", "§3 rule 5")
_DEFAULT = _assumed("its price, {amount}, is the default", "price=")
_JOINS = _assumed(
    "it joins {conversation}, which is pending or open with {recipient} and has its origin type",
    "conversation=",
)
_GIVEN = Reason("the test put it into {conversation}", "§2.4")
_OPEN = _assumed(
    "{conversation} has been open since {starter} was delivered, so it costs nothing", "charge_per="
)
_BEGINS_EACH = Reason("it starts {conversation}", "§2.4")
_HELD_EACH = Reason(
    "each message is charged: its price, {amount}, is held until it is delivered",
    CHARGED_BY["message"],
)

#: By what is charged, how the message got its conversation, and whether the price is the default:
#: the rules for a message with a price, a free message, and one in a session that is already paid
#: for.
SENT: Final[dict[tuple[ChargePer, Joining, bool], tuple[Rule, Rule, Rule]]] = {}


def _sent(way: Joining, reason: Reason, each: Reason) -> None:
    rows: tuple[tuple[ChargePer, str, Reason, Reason], ...] = (
        ("conversation", way, reason, _HELD),
        ("message", f"{way}-each", each, _HELD_EACH),
    )
    in_session = _rule(f"{way}-open", reason, _OPEN)
    for per, key, begun, held in rows:
        free = _rule(f"{key}-free", begun, _FREE)
        SENT[per, way, False] = (_rule(key, begun, held), free, in_session)
        default = _rule(f"{key}-default", begun, _DEFAULT, held)
        SENT[per, way, True] = (default, free, in_session)


_sent("new", _BEGINS, _BEGINS_EACH)
_sent("joined", _JOINS, _JOINS)
_sent("given", _GIVEN, _GIVEN)

# Delivered and read: on a device for the first time

_FIRST = Reason("the first delivery in {conversation} starts its session and costs {amount}", "§1")
_FINAL = Reason("the delivery set the final price, {amount}", "§2.3")
_NOTHING = Reason("the first delivery in {conversation} starts its session; the price is 0", "§1")
_LATER = Reason("{conversation} was already charged for {starter}", "§1")
_EACH = Reason(
    "each message is charged when it first arrives; this one costs {amount}", CHARGED_BY["message"]
)
_NOTHING_EACH = Reason(
    "each message is charged, but the price of this one is 0", CHARGED_BY["message"]
)
_ITS_HOLD = _assumed("its hold, {held}, lasted until now and is released")
_LATE = _assumed("the session of {conversation} is over, so it costs nothing", "charge_per=")
_AT_ONCE = Reason("it was delivered and read at once, with no delivered event", "§3")
_PRIVATE = _assumed("it was read without read receipts: the service only sees a delivery")

#: What a message's first arrival does to the money, prefixed with ``each-`` if each message is
#: charged.
Outcome: TypeAlias = str

_OUTCOMES: Final[dict[Outcome, tuple[Reason, ...]]] = {
    "first": (_FIRST,),
    "final": (_FINAL, _FIRST),
    "free": (_NOTHING,),
    "later": (_LATER,),
    "held": (_LATER, _ITS_HOLD),
    "late": (_LATER, _LATE),
    "each-first": (_EACH,),
    "each-final": (_FINAL, _EACH),
    "each-free": (_NOTHING_EACH,),
}


def _arrivals(way: str, *reasons: Reason) -> dict[Outcome, Rule]:
    return {
        outcome: _rule(f"{way}-{outcome}", *reasons, *more) for outcome, more in _OUTCOMES.items()
    }


DELIVERED: Final = _arrivals("delivered")
READ_AT_ONCE: Final = _arrivals("read-at-once", _AT_ONCE)
READ_IN_PRIVATE: Final = _arrivals("read-in-private", _PRIVATE)

ANOTHER_DEVICE: Final = _rule(
    "another-device", Reason("another device got it: not charged again", "§6 rule 2")
)
READ: Final = _rule("read", Reason("reading costs nothing", "§3"))

# Failed and dropped

REJECTED: Final = _rule(
    "rejected", Reason("it failed before it was sent: nothing is held or charged", "§3 rule 4")
)
_CANNOT_HOLD = _assumed(
    "the balance can't cover its price, {amount}: it failed before it was sent",
    "on_insufficient_balance=",
)
#: The key says whether the price is the default.
TOO_DEAR: Final = {
    False: _rule("too-dear", _CANNOT_HOLD),
    True: _rule("too-dear-default", _DEFAULT, _CANNOT_HOLD),
}
_NO_CHARGE = Reason("it failed after it was sent: failed messages are not charged", "§8")
FAILED: Final = _rule("failed", _NO_CHARGE, _assumed("its hold is released at once"))
FAILED_FREE: Final = _rule("failed-free", _NO_CHARGE)
DROPPED: Final = _rule(
    "dropped",
    Reason("it was not delivered in time and was dropped: its hold is released", "§3 rule 5"),
    Reason("a drop sends no event", "§3 rule 6"),
)

#: For events by ``emit()``, which the service would not send.
SYNTHETIC: Final = _rule("synthetic", Reason("the test made it with emit(): no money moves", "§6"))
