"""The sentences with which expectations fail: expected, found, the evidence, the likely cause."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.request_log import ApiRequest
from ..wire.exact_json import number
from .tables import events_table, ledger_table, table

#: What can be expected of the account; what is held and charged, of one message, too.
Figure: TypeAlias = Literal["available", "held", "charged"]


def amount_failure(
    engine: Engine,
    what: Figure,
    expected: Decimal,
    message: MessageState | None,
) -> str | None:
    """Compare an amount of the account, or of one message."""
    ledger = engine.account.ledger
    if message is None:
        found = {"available": ledger.available, "held": ledger.held, "charged": ledger.charged}[
            what
        ]
        subject = "the account"
    else:
        found = message.held if what == "held" else message.charged
        subject = f"message {message.id}"
    if found == expected:
        return None
    entries = (
        entry for entry in ledger.entries if message is None or entry.message_id == message.id
    )
    currency = engine.settings.currency
    verb = {"available": "available on", "held": "held for", "charged": "charged to"}[what]
    return "\n".join(
        [
            f"{what}: expected {number(expected)} {currency}, found {number(found)} {currency}",
            *_likely_cause(engine, what, message),
            f"{verb.capitalize()} {subject}, by the ledger:",
            ledger_table(entries),
        ]
    )


def _likely_cause(engine: Engine, what: str, message: MessageState | None) -> list[str]:
    if message is None or what != "charged" or message.charged:
        return []
    if message.state == "sent":
        return ["It was not delivered yet, and a charge is made at the first delivery."]
    if message.state == "failed":
        return ["It failed, and failed messages are not charged."]
    if message.state == "dropped":
        return ["It was dropped before it was delivered."]
    for other in engine.account.messages:
        if other.charged and other.conversation is message.conversation:
            return [f"Its conversation was charged already, with message {other.id}."]
    return []


def charge_failure(
    engine: Engine, expected: Decimal, found: Decimal, entries: Sequence[LedgerEntry]
) -> str | None:
    """Compare what a block charged."""
    if found == expected:
        return None
    currency = engine.settings.currency
    return "\n".join(
        [
            f"charged in the block: expected {number(expected)} {currency}, found {number(found)}",
            "Posted in the block:",
            ledger_table(entries),
        ]
    )


def statuses_failure(engine: Engine, message: MessageState, expected: Sequence[str]) -> str | None:
    """Compare the statuses of a message's events."""
    found = [event.status or "" for event in engine.outbox.events_of(message.number)]
    if found == list(expected):
        return None
    same = 0
    while same < min(len(found), len(expected)) and found[same] == expected[same]:
        same += 1
    if same == len(found):
        difference = f"missing from number {same + 1} on: {', '.join(expected[same:])}"
    elif same == len(expected):
        difference = f"not expected, from number {same + 1} on: {', '.join(found[same:])}"
    else:
        difference = f"number {same + 1} is {found[same]}, and {expected[same]} was expected"
    dropped = ["It was dropped, which has no event."] if message.state == "dropped" else []
    return "\n".join(
        [
            f"statuses of message {message.id} differ: {difference}",
            f"  expected  {', '.join(expected) or '(none)'}",
            f"  found     {', '.join(found) or '(none)'}",
            *dropped,
            "Its events:",
            events_table(engine.outbox.events_of(message.number)),
        ]
    )


def requests_failure(
    log: Sequence[ApiRequest], method: str, path: str, times: int | None
) -> str | None:
    """Compare how often something was asked of the API."""
    found = sum(1 for one in log if (one.method, one.path) == (method, path))
    if found == times or (times is None and found):
        return None
    wanted = "at least once" if times is None else _times(times)
    return "\n".join(
        [
            f"{method} {path} was requested {_times(found)}, and {wanted} was expected",
            "Requested were:",
            table([[str(one)] for one in log]),
        ]
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
