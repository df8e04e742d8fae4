"""The other verbs: of money, of events, and of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..base.arguments import cited
from ..base.calling_line import Line
from ..domain.account import Account
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.money import EXACT
from ..webhooks.events import CustomEvent, Event
from ..webhooks.fake_state import FakeState
from ..webhooks.synthetic import Edit
from .executor import Executor, OtherVerb


@dataclass(frozen=True, slots=True)
class TopUp(OtherVerb):
    """Money comes in (assumed)."""

    amount: Decimal

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        entry = LedgerEntry("top_up", self.amount, now)
        executor.note(what, line, entry, now)
        state.account.ledger.post(entry)


@dataclass(frozen=True, slots=True)
class SetBalance(OtherVerb):
    """The available amount becomes another one (assumed)."""

    amount: Decimal

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        ledger = state.account.ledger
        difference = EXACT.subtract(self.amount, ledger.available)
        entry = LedgerEntry("adjustment", difference, now) if difference else None
        executor.note(what, line, entry, now)
        if entry is not None:
            ledger.post(entry)


@dataclass(frozen=True, slots=True)
class Redeliver(OtherVerb):
    """A past event is posted again (assumed)."""

    event: Event

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        event = self.event
        if not state.history.has(event):
            raise ValueError(f"{cited(event)} was not emitted by this fake")
        state.outbox.redeliver(event, line, executor.note(what, line, event, now))


@dataclass(frozen=True, slots=True)
class Emit(OtherVerb):
    """An event is emitted that the service would not send.

    Attributes:
        status: Its status, which may be unknown.
        edit: Changes its body, or replaces it.
        type: Its type, for routing.
    """

    message: MessageState
    status: str
    edit: Edit | bytes
    type: str

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        outbox, message, status = state.outbox, self.message, self.status
        state.account.check_current(message)
        fields = "" if executor.extra_fields is None else executor.extra_fields(message, status)
        while True:
            fact = state.account.synthetic(message, status, now)
            event = outbox.write_synthetic(fact, fields, status, self.edit, self.type, line)
            if not outbox.ask_outbound([event]):
                break
        outbox.emit(event, executor.note(what, line, message, now))


@dataclass(frozen=True, slots=True)
class EmitEvent(OtherVerb):
    """An event of the test's own shape is emitted (assumed)."""

    event: CustomEvent

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        executor.emit_custom(state, self.event, None, what, line, now)


@dataclass(frozen=True, slots=True)
class Describe(OtherVerb):
    """A person changes, or is described (§3).

    Attributes:
        account: The account whose people the test knows.
        address: The person's address.
        changes: The new values of fields.
        is_done: Whether the person has done it, in contrast to a description.
    """

    account: Account
    address: str
    changes: Mapping[str, Any]
    is_done: bool

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        state.account.check_person(self.address, self.account)
        people = self.account.people
        fact = people.decide(what, self.address, self.changes, now, is_done=self.is_done)
        record = executor.note(what, line, fact, now)
        people.apply(fact)
        executor.finish(state, [fact], record)
