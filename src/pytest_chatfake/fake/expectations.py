"""Expectations, and the sentences with which they fail.

A failure says what was expected, what was found, and shows the ledger or the events that make the
difference.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from ..base.arguments import text, whole
from ..domain.messages import STATUSES
from ..domain.money import EXACT, signed
from ..domain.money import amount as exact
from ..report.stories import events_table, ledger_table, message_story, table
from ..wire.bodies import number

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from decimal import Decimal

    from ..domain.ledger import LedgerEntry
    from ..domain.messages import MessageState
    from ..domain.money import Money
    from ..engine.engine import Engine
    from ..http_api.account import AccountApi
    from ..http_api.request_log import ApiRequest
    from .messages import Message

__all__ = ["Expectations"]


class Expectations:
    """The part of a fake that expects things of it.

    In sync mode each expectation settles first: what is due runs, what is queued is attempted.
    """

    _engine: Engine
    api: AccountApi

    def assert_charged(self, amount: Money, *, message: Message | None = None) -> None:
        """Expect that so much was charged: in all, or for one message (§8).

        Args:
            amount: A ``Decimal``, an ``int`` or a text.
            message: None: in all.

        Raises:
            AssertionError: It was not.
            TypeError: An argument is of the wrong kind.
            ValueError: The amount is no number, or the message is of another fake.
        """
        self._assert_amount("charged", amount, message)

    def assert_held(self, amount: Money, *, message: Message | None = None) -> None:
        """Expect that so much is held now: in all, or for one message (§3 rule 5).

        Args and errors are those of :meth:`assert_charged`.
        """
        self._assert_amount("held", amount, message)

    def assert_available(self, amount: Money) -> None:
        """Expect that so much can be spent now (§2.1); with a minus, if it is below 0.

        Args and errors are those of :meth:`assert_charged`.
        """
        self._assert_amount("available", amount, None)

    def _assert_amount(
        self,
        what: Literal["available", "held", "charged"],
        expected: Money,
        message: Message | None,
    ) -> None:
        value = signed(expected, "the expected amount")
        self._engine.settle_and_look()
        state = None if message is None else self._own(message)
        _fail(_amount_failure(self._engine, what, value, state))

    def assert_statuses(self, message: Message, *statuses: str) -> None:
        """Expect that the message's events had exactly these statuses, in this order (§6).

        Raises:
            AssertionError: They had not.
            ValueError: One of them is no status.
        """
        for status in statuses:
            if not isinstance(status, str):
                raise TypeError(f"write the statuses one by one, not as {status!r}")
            if status not in STATUSES and not self._emitted(status):
                raise ValueError(f"statuses are {', '.join(STATUSES)}, and {status!r} is none")
        self._engine.settle_and_look()
        _fail(_statuses_failure(self._engine, self._own(message), statuses))

    def _emitted(self, status: str) -> bool:
        return any(event.status == status for event in self._engine.outbox.events)

    def assert_requested(self, method: str, path: str, *, times: int | None = None) -> None:
        """Expect that the API was asked for this (§4).

        Args:
            method: Such as ``GET``.
            path: The path, without the query string.
            times: How often; None: at least once.

        Raises:
            AssertionError: It was not.
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is empty or out of range.
        """
        method = text(method, "method").upper()
        text(path, "path")
        if times is not None:
            whole(times, "times", 0)
        self._engine.settle_and_look()
        _fail(_requests_failure(self.api._log, method, path, times))

    @contextmanager
    def expect_charge(self, amount: Money) -> Generator[None, None, None]:
        """Expect that the block charges exactly that much (§8).

        Raises:
            AssertionError: It charged something else.
            TypeError: The amount is of the wrong kind.
            ValueError: The amount is no number, or negative.
        """
        value = exact(amount, "the expected amount")
        self._engine.settle_and_look()
        ledger = self._engine.account.ledger
        charged, count = ledger.charged, len(ledger.entries)
        yield
        self._engine.settle_and_look()
        found = EXACT.subtract(ledger.charged, charged)
        _fail(_charge_failure(self._engine, value, found, ledger.entries[count:]))

    def explain(self, message: Message) -> str:
        """Tell all that is known of a message: status, money, events and attempts, in order."""
        self._engine.settle_and_look()
        return message_story(self._engine, self._own(message))

    def _own(self, message: Message) -> MessageState:
        self._engine.own(message)
        return message._look()


def _fail(text: str | None) -> None:
    if text is not None:
        raise AssertionError(text)


def _amount_failure(
    engine: Engine,
    what: Literal["available", "held", "charged"],
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
    currency = engine.config.currency
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


def _charge_failure(
    engine: Engine, expected: Decimal, found: Decimal, entries: Sequence[LedgerEntry]
) -> str | None:
    """Compare what a block charged."""
    if found == expected:
        return None
    currency = engine.config.currency
    return "\n".join(
        [
            f"charged in the block: expected {number(expected)} {currency}, found {number(found)}",
            "Posted in the block:",
            ledger_table(entries),
        ]
    )


def _statuses_failure(engine: Engine, message: MessageState, expected: Sequence[str]) -> str | None:
    """Compare the statuses of a message's events."""
    found = [event.status for event in engine.outbox.events_of(message.id)]
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
            events_table(engine, message),
        ]
    )


def _requests_failure(
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
